# SPDX-License-Identifier: MIT
"""Web servers under a quota: requests a second, mean latency and time-outs, against clients (H, §4.4)."""
from __future__ import annotations

import sys
from pathlib import Path

import style
import factors
import web_h2

NAME = "web_h1"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("latency", "latency_mean", "mean (log)", "log"),
          factors.Panel("time-outs", "timeout_share", "share", "linear")]


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "connections", web_h2.prepare, list(web_h2.NAMES.values()))
    factors.draw(data, out, NAME, PANELS, "clients (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
