# SPDX-License-Identifier: MIT
"""Row H6, §3.3.1 of H: ucontext pays a system call a switch, assembly none.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (Predicate, Verdict, above, all_of, at_each, below,
                                       in_short, levels, native, span)

THRESHOLDS: dict[str, Any] = {
    # "a system call a switch" with ucontext, and less than this with assembly
    "ucontext": [0.9, 1.1], "asm": 0.01,
}


def system_calls(frame: pd.DataFrame) -> Verdict:
    low, high = THRESHOLDS["ucontext"]
    parts, calls, none = [], [], []
    for n, good in at_each(native(frame, "steps", ("context", "workers", "fibres")), "fibres"):
        asm, portable = levels(good, "yield_syscalls", "context", ("asm", "ucontext"))
        name = f"system calls a switch, {n:g} fibres, "
        calls.append(stats.median(portable.to_numpy()))
        none.append(stats.median(asm.to_numpy()))
        parts += [above(calls[-1], low, name + "ucontext"),
                  below(calls[-1], high, name + "ucontext"),
                  below(none[-1], THRESHOLDS["asm"], name + "assembly")]
    return in_short(all_of(parts), f"system calls a switch at {len(calls)} numbers of fibres: "
                    f"ucontext {span(calls)}, assembly {span(none)}")


CLAIMS: dict[str, Predicate] = {"a system call a switch": system_calls}
