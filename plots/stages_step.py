# SPDX-License-Identifier: MIT
"""A pipeline before and after a step of what its stages cost, by how its workers are spread."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "stages_step"
PANELS = [factors.Panel("before the step", "before", "items/s", "linear"),
          factors.Panel("after it", "throughput", "items/s", "linear")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["series"].astype(str), workers=frame["workers"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "stages", "workers", prepare, [])
    factors.draw(data, out, NAME, PANELS, "workers")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
