# SPDX-License-Identifier: MIT
"""What a fibre costs to make, by where its stack comes from (H, section 3.3.9)"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "stacks_h4"
PANELS = [factors.Panel("the first time", "create_first", "time a fibre (log)", "log"),
          factors.Panel("again", "create_again", "time a fibre (log)", "log"),
          factors.Panel("resident, parked", "resident", "bytes a fibre", "linear"),
          factors.Panel("page tables", "page_tables", "bytes a fibre", "linear")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["stacks"].astype(str))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "stacks", "fibres", prepare, ("pooled", "mmap", "malloc"))
    factors.draw(data, out, NAME, PANELS, "fibres at a time (log)", "1", more=[
        "From the spawn until the fibre has parked. Pooled: stacks are kept, with a guard; mmap: a "
        "mapping and a guard for each fibre; malloc: a block, without a guard. The second time "
        "round, those that are kept serve again."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
