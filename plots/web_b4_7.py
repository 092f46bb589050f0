# SPDX-License-Identifier: MIT
"""Web servers: requests a second, processor time and memory, against connections (B, figures 4.7 to 4.9)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
import web_h2

NAME = "web_b4_7"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear"),
          factors.Panel("memory", "memory", "bytes a connection", "linear")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    cores = frame["workers"].map(lambda n: f", {n:g} cores")
    return frame.assign(label=frame["server"].map(web_h2.NAMES) + cores)


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "connections", prepare, [])
    factors.draw(data, out, NAME, PANELS, "connections (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
