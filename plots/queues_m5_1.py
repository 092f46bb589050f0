# SPDX-License-Identifier: MIT
"""Threads at one queue: throughput, and work in vain, against their number (M, section 5.1)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "queues_m5_1"
PANELS = [factors.Panel("throughput", "throughput", "items/s (log)", "log"),
          factors.Panel("pops in vain", "empty", "an item (log)", "symlog")]
ORDER = ["mpmc-ring", "mpmc-fad", "mpmc-cas", "locked", "two-lock", "multiqueue", "sharded", "treiber", "locked-lifo",
         "ck-ring", "ck-stack", "urcu-wfs"]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame[frame["producers"].eq(0)]
    return frame.assign(label=frame["structure"].astype(str))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "crowd", "workers", prepare, ORDER)
    factors.draw(data, out, NAME, PANELS, "threads (log)", more=[
        "Each thread pushes an item and pops one, in turns."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
