# SPDX-License-Identifier: MIT
"""Row M4.3, section 4.3.2 of M: stages with a pool each against sharded queues, from low load to twice what saturates.

The thresholds were written down before anything was measured or simulated for this row.  The load that saturates is known
of the simulated half only: ten workers, 30 us an item.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, native
from experiments.runner.points import Over, Point, because, statements, take

THRESHOLDS: dict[str, Any] = {
    # [least, greatest] items a second that count as low, as just before saturation, as twice as much
    "low": [20000, 40000], "full": [280000, 330000], "twice": [550000, 700000],
    # behind: the median latency of staged over that of sharded is more than this
    "behind": 1.05,
    # gracefully: so much of the throughput is kept
    "kept": 0.9,
    # less so: what staged keeps over what sharded keeps is more than this
    "more": 1.0,
}
APART = ("scheduler", "rate")


def at(scheduler: str, name: str) -> Point:
    return {"scheduler": scheduler, "rate": THRESHOLDS[name]}


def _kept(good: pd.DataFrame, scheduler: str) -> pd.Series:
    twice, _name = take(good, "throughput", at(scheduler, "twice"))
    full, _name = take(good, "throughput", at(scheduler, "full"))
    return (twice / full).dropna()


def graceful(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "stages", APART)
    staged, sharded = _kept(good, "staged"), _kept(good, "sharded")
    verdict = all_of([
        above(stats.median(staged.to_numpy(dtype=float)), THRESHOLDS["kept"], "staged: throughput kept at twice the load"),
        above(stats.ratio(staged, sharded), THRESHOLDS["more"], "what staged keeps over what sharded keeps")])
    return because(verdict, good, [at(s, "twice") for s in ("staged", "sharded")])


CLAIMS: dict[str, Predicate] = {
    "staged behind at low load": statements("stages", APART, {}, [
        Over("latency_p50_ns", at("staged", "low"), at("sharded", "low"), "above", THRESHOLDS["behind"])]),
    "degrades gracefully past saturation, sharded less so": graceful,
}
