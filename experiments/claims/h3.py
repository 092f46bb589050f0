# SPDX-License-Identifier: MIT
"""Row H3, sections 3.3.6 and 3.3.7 of H: protocols of suspension, and who frees dead fibres.

The source implements one of each and argues against the others without measuring; the statements
are its arguments.  All are judged on one worker, where nothing else runs.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, native

THRESHOLDS: dict[str, Any] = {
    "workers": 1,
    # each statement: time of the one over time of the other is above this
    "dearer": 1.0,
}
APART = ("workers", "suspension", "dead")


def _dearer(metric: str, one: dict[str, str], other: dict[str, str]) -> Predicate:
    """`metric` under `one` over that under `other`, builds alike but for what both name."""
    def judge(frame: pd.DataFrame) -> Verdict:
        good = native(frame, "suspension", APART)
        for factor in ("suspension", "dead"):
            if factor not in good:
                raise Undecidable(f"no factor {factor} in the data")
        good = good[good["workers"].eq(THRESHOLDS["workers"]) & good["metric"].eq(metric)]
        first, second = (_of(good, metric, point) for point in (one, other))
        names = " over ".join(", ".join(f"{k} {v}" for k, v in p.items()) for p in (one, other))
        return above(stats.ratio(first, second), THRESHOLDS["dearer"], f"{metric}: {names}")
    return judge


def _of(good: pd.DataFrame, metric: str, point: dict[str, str]) -> pd.Series[float]:
    for factor, value in point.items():
        good = good[good[factor].eq(value)]
    if good.empty:
        raise Undecidable(f"no {metric} with " + ", ".join(f"{k} {v}" for k, v in point.items()))
    return stats.by_block(good, metric)


NEXT = {"suspension": "next", "dead": "next"}

CLAIMS: dict[str, Predicate] = {
    "a step on the utility stack costs more than a compare-and-exchange by the next fibre":
        _dearer("suspend_wake", {"suspension": "utility", "dead": "next"}, NEXT),
    "a lock handed over costs more than a compare-and-exchange":
        _dearer("wait_wake", {"suspension": "lock", "dead": "next"}, NEXT),
    "freeing the dead by the next fibre costs every switch":
        _dearer("yield_2", NEXT, {"suspension": "next", "dead": "utility"}),
    "freeing the dead from the utility stack costs every end":
        _dearer("end_detached", {"suspension": "next", "dead": "utility"}, NEXT),
}
