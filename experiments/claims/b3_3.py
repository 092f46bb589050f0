# SPDX-License-Identifier: MIT
"""Row B3.3, §3.5 of B: what a split stack adds to a call that needs no further segment.

The threshold was written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (Predicate, Verdict, above, all_of, at_each, below,
                                       in_short, levels, native, span)

#: more instructions than 0, and fewer than what is no longer called a few
THRESHOLDS: dict[str, Any] = {"none": 0.0, "few": 6.0}


def added(frame: pd.DataFrame) -> Verdict:
    parts, added_by = [], []
    for size, good in at_each(native(frame, "steps", ("stacks", "workers", "frame")), "frame"):
        fixed, split = levels(good, "call_instructions", "stacks", ("pooled", "split"))
        more = stats.median((split - fixed).dropna().to_numpy())
        name = f"instructions a call, frame of {size:g} bytes, split less fixed"
        parts += [above(more, THRESHOLDS["none"], name), below(more, THRESHOLDS["few"], name)]
        added_by.append(more)
    return in_short(all_of(parts), f"{span(added_by)} instructions more a call at {len(added_by)} "
                    "sizes of the frame")


CLAIMS: dict[str, Predicate] = {"a few instructions a call": added}
