# SPDX-License-Identifier: MIT
"""Idle workers: latency, processor time and rest against inter-arrival time (B, section 3.2.3)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

PANELS = [factors.Panel("latency", "latency_median", "due to run, median (log)", "log"),
          factors.Panel("processor time", "cpu", "worker, an arrival (log)", "log"),
          factors.Panel("while nothing arrives", "idle_share", "share of a processor", "linear")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["idle"], interval=1e9 / frame["rate"].astype(float))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "arrivals", "interval", prepare, ("block", "spin", "spin-block"))
    factors.draw(data, out, "arrivals_b3_2", PANELS, "between arrivals (log)", "ns")


if __name__ == "__main__":
    sys.exit(style.script("arrivals_b3_2", draw, sys.argv))
