# SPDX-License-Identifier: MIT
"""Timers, heap against wheel, against their number (H, section 3.3.3)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "timers_h5"
PANELS = [factors.Panel("arm", "arm", "time a timer (log)", "log"),
          factors.Panel("restart", "restart", "time a timer (log)", "log"),
          factors.Panel("cancel", "cancel", "time a timer (log)", "log"),
          factors.Panel("run out", "expire", "time a timer (log)", "log")]
ORDER = [f"{t}, {d}" for t in ("heap", "wheel") for d in ("uniform", "same")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    label = frame["timers"].astype(str) + ", " + frame["deadlines"].astype(str)
    return frame.assign(label=label, armed=frame["armed"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "timers", "armed", prepare, ORDER)
    factors.draw(data, out, NAME, PANELS, "timers armed (log)", more=[
        "uniform: deadlines anywhere in the next minute; same: one time-out for all. Restart: "
        "cancelled and armed anew."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
