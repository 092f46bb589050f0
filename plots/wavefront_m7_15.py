# SPDX-License-Identifier: MIT
"""Wavefronts of promises: cells a second against the side of a block, by scheduler and by who spawns (M, section 2.4.3)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "wavefront_m7_15"
TABLES = {"put": "American put", "align": "alignment"}
PANELS = [factors.Panel(title, f"{problem} throughput", "cells/s (log)", "log") for problem, title in TABLES.items()]
WAYS = {"all": "one spawns all", "next": "each spawns the next"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    label = frame["series"].astype(str) + ", " + frame["spawn"].map(WAYS)
    return frame.assign(label=label, side=frame["side"], metric=frame["problem"].astype(str) + " " + frame["metric"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "wavefront", "side", prepare, [])
    factors.draw(data, out, NAME, PANELS, "side of a block, cells (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
