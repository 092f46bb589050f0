# SPDX-License-Identifier: MIT
"""Row H5, section 3.3.3 of H: a heap of timers against a hierarchical wheel.

The source uses the heap and calls the wheel better performing, unmeasured.  The thresholds were
written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, all_of, below, native

THRESHOLDS: dict[str, Any] = {
    "few": 1000, "many": 1_000_000,
    # restart at `many` over that at `few`: the misses of a larger memory are in it
    "flat_factor": 4.0,
    # heap over wheel
    "faster": 1.0,
}
APART = ("armed", "deadlines", "timers")
BOTH = ("uniform", "same")


def _points(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    good = native(frame, "timers", APART)
    for factor in APART:
        if factor not in good:
            raise Undecidable(f"no factor {factor} in the data")
    return good[good["metric"].eq(metric)]


def _at(good: pd.DataFrame, metric: str, timers: str, deadlines: str, armed: int
        ) -> pd.Series[float]:
    part = good[good["timers"].eq(timers) & good["deadlines"].eq(deadlines)
                & good["armed"].eq(armed)]
    if part.empty:
        raise Undecidable(f"no {metric} of the {timers} with {armed} timers, deadlines {deadlines}")
    return stats.by_block(part, metric)


def _faster(metric: str) -> Predicate:
    def judge(frame: pd.DataFrame) -> Verdict:
        good, many = _points(frame, metric), int(THRESHOLDS["many"])
        return all_of([above(stats.ratio(_at(good, metric, "heap", kind, many),
                                         _at(good, metric, "wheel", kind, many)),
                             THRESHOLDS["faster"],
                             f"{metric}, deadlines {kind}, {many} timers: heap over wheel")
                       for kind in BOTH])
    return judge


def flat(frame: pd.DataFrame) -> Verdict:
    metric = "restart"
    good = _points(frame, metric)
    few, many = int(THRESHOLDS["few"]), int(THRESHOLDS["many"])
    return all_of([below(stats.ratio(_at(good, metric, "wheel", kind, many),
                                     _at(good, metric, "wheel", kind, few)),
                         THRESHOLDS["flat_factor"],
                         f"{metric}, deadlines {kind}, wheel: {many} timers over {few}")
                   for kind in BOTH])


CLAIMS: dict[str, Predicate] = {
    "the wheel arms and cancels faster at a million timers": _faster("restart"),
    "the wheel's timers run out faster at a million timers": _faster("expire"),
    "the wheel takes about the same time for a thousand and a million timers": flat,
}
