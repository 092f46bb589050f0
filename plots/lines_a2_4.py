# SPDX-License-Identifier: MIT
"""A line from one processor to another and back: half a round trip, by the other processor (A, figure 2.4)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "lines_a2_4"
WANTED = [factors.Panel("half a round trip", "line", "time (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    machine = frame["TENTER_MACHINE"] if "TENTER_MACHINE" in frame else "this machine"
    return frame.assign(label=machine, to=frame["to"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "lines", "to", prepare, ())
    simulated = data.frame["runtime"].eq("simulate").any()
    more = ["Simulated: what the machine files say, mostly estimates. The processor behind the last core is the "
            "first one's sibling."] if simulated else []
    factors.draw(data, out, NAME, WANTED, "the other processor (log); the first is 0", more=more)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
