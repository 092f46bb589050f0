# SPDX-License-Identifier: MIT
"""What split stacks add to a call, by the frame of the function called (B, section 3.5)"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "split_b3_3"
PANELS = [factors.Panel("instructions", "call_instructions", "instructions a call", "linear"),
          factors.Panel("time", "call_time", "time a call (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["stacks"].astype(str))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "steps", "frame", prepare, ("pooled", "split"))
    factors.draw(data, out, NAME, PANELS, "frame of the function called, bytes (log)", "B", more=[
        "Counted step by step (ptrace), not sampled: all invocations agree. The loop around the "
        "call is in both. No call needs a further segment. A frame of a page or more is probed "
        "(-fstack-clash-protection) on either stack."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
