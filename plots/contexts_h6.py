# SPDX-License-Identifier: MIT
"""What a switch executes, by assembly and by ucontext (H, section 3.3.1)"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "contexts_h6"
PANELS = [factors.Panel("system calls", "yield_syscalls", "system calls a switch", "linear"),
          factors.Panel("instructions", "yield_instructions", "instructions a switch", "linear"),
          factors.Panel("time", "yield_time", "time a switch (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["context"].astype(str))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "steps", "fibres", prepare, ("asm", "ucontext"))
    factors.draw(data, out, NAME, PANELS, "fibres that yield (log)", "1", more=[
        "Counted step by step (ptrace) in user space, not sampled: all invocations agree. What "
        "the kernel executes in a system call is in the time alone."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
