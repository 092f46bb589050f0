# SPDX-License-Identifier: MIT
"""Web servers by fibres, loops and threads, and their peers, against cores (H, §4.4)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "web_h2"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear"),
          factors.Panel("latency", "latency_p99", "p99 (log)", "log")]
NAMES = {"httpd": "fibres", "httpd-event": "loops", "httpd-event --copies": "loops, N-copy", "httpd-pthread": "pthreads",
         "httpd-bare": "barest loop", "httpd-go": "Go", "httpd-nginx": "nginx"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["server"].map(NAMES))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "workers", prepare, list(NAMES.values()))
    factors.draw(data, out, NAME, PANELS, "cores")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
