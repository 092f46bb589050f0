# SPDX-License-Identifier: MIT
"""Packet server by the clock of its probes: throughput, and what a reading costs (M, section 6.5)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

PANELS = [factors.Panel("throughput", "throughput", "packets/s", "linear"),
          factors.Panel("a reading of the clock", "counter_clock_read_ns", "a reading (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["clock"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "packet", "workers", prepare, ("none", "tsc", "vdso", "syscall"))
    factors.draw(data, out, "clock_m6_5", PANELS, "workers (threads)")


if __name__ == "__main__":
    sys.exit(style.script("clock_m6_5", draw, sys.argv))
