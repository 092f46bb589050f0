# SPDX-License-Identifier: MIT
"""Row B3.3, §3.5 of B: what a split stack adds to a call that needs no further segment.

The threshold was written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, below, levels, native

#: more instructions than 0, and fewer than what is no longer called a few
THRESHOLDS: dict[str, Any] = {"none": 0.0, "few": 6.0}


def added(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "steps", ("stacks", "workers"))
    fixed, split = levels(good, "call_instructions", "stacks", ("pooled", "split"))
    more = stats.median((split - fixed).dropna().to_numpy())
    name = "instructions a call, split less fixed"
    return all_of([above(more, THRESHOLDS["none"], name), below(more, THRESHOLDS["few"], name)])


CLAIMS: dict[str, Predicate] = {"a few instructions a call": added}
