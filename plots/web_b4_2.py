# SPDX-License-Identifier: MIT
"""Web server: requests a second with and without a yield before each read, against cores (B, figure 4.2)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "web_b4_2"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear")]
NAMES = {"fibre:yield=off": "at once", "fibre:yield=on": "yields first"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    depth = frame["depth"].map(lambda d: f", pipeline {d:g}")
    return frame.assign(label=frame["TENTER_POLLER"].map(NAMES) + depth)


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "workers", prepare, [])
    factors.draw(data, out, NAME, PANELS, "cores")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
