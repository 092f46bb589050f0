# SPDX-License-Identifier: MIT
"""A pipeline: throughput, latency and what was shed, against the load (M, section 4.3.2)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "stages_m4_3"
PANELS = [factors.Panel("throughput", "throughput", "items/s", "log"),
          factors.Panel("latency", "latency_p99_ns", "p99, due to end (log)", "log"),
          factors.Panel("shed", "shed", "share of the items", "symlog")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["series"].astype(str), rate=frame["rate"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "stages", "rate", prepare, [])
    factors.draw(data, out, NAME, PANELS, "items that are due, 1/s (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
