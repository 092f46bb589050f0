# SPDX-License-Identifier: MIT
"""Row H6, §3.3.1 of H: ucontext pays a system call a switch, assembly none.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, below, levels, native

THRESHOLDS: dict[str, Any] = {
    # "a system call a switch" with ucontext, and less than this with assembly
    "ucontext": [0.9, 1.1], "asm": 0.01,
}


def system_calls(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "steps", ("context", "workers"))
    asm, portable = levels(good, "yield_syscalls", "context", ("asm", "ucontext"))
    low, high = THRESHOLDS["ucontext"]
    many = stats.median(portable.to_numpy())
    return all_of([above(many, low, "system calls a switch, ucontext"),
                   below(many, high, "system calls a switch, ucontext"),
                   below(stats.median(asm.to_numpy()), THRESHOLDS["asm"],
                         "system calls a switch, assembly")])


CLAIMS: dict[str, Predicate] = {"a system call a switch": system_calls}
