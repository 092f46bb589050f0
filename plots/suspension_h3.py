# SPDX-License-Identifier: MIT
"""Suspending and ending, by the protocol of the build (H, sections 3.3.6 and 3.3.7)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "suspension_h3"
PANELS = [factors.Panel("yield", "yield_2", "a yield", "linear"),
          factors.Panel("tn_wait", "wait_wake", "a wait", "linear"),
          factors.Panel("tn_suspend", "suspend_wake", "a wait", "linear"),
          factors.Panel("end, detached", "end_detached", "a fibre", "linear")]
ORDER = [f"{s}, dead {d}" for s in ("next", "utility", "lock") for d in ("next", "utility")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    label = frame["suspension"].astype(str) + ", dead " + frame["dead"].astype(str)
    return frame.assign(label=label, workers=frame["workers"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "suspension", "workers", prepare, ORDER)
    factors.draw(data, out, NAME, PANELS, "workers", more=[
        "next: registered, then a compare-and-exchange by the next fibre; utility: registered by a "
        "step on the worker's own stack; lock: handed over. dead: who frees what has ended."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
