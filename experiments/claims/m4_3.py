# SPDX-License-Identifier: MIT
"""Row M4.3, section 4.3.2 of M: stages with a pool each against sharded queues, from low load to twice what saturates.

The thresholds were written down before anything was measured or simulated for this row, for ten workers; they are kept a worker,
since an item takes one for 30 us, however many there are.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, native
from experiments.runner.points import Over, Point, because, statements, take

THRESHOLDS: dict[str, Any] = {
    # [least, greatest] items a second and worker that count as low, as just before saturation, as twice as much
    "low": [2000, 4000], "full": [28000, 33000], "twice": [55000, 70000],
    # behind: the median latency of staged over that of sharded is more than this
    "behind": 1.05,
    # gracefully: so much of the throughput is kept
    "kept": 0.9,
    # less so: what staged keeps over what sharded keeps is more than this
    "more": 1.0,
}
LOAD = "items a worker"
APART = ("scheduler", "rate", LOAD)


def _loads(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{LOAD: frame["rate"] / frame["workers"]}) if "rate" in frame else frame


def at(scheduler: str, name: str) -> Point:
    return {"scheduler": scheduler, LOAD: THRESHOLDS[name]}


def _kept(good: pd.DataFrame, scheduler: str) -> pd.Series:
    twice, _name = take(good, "throughput", at(scheduler, "twice"))
    full, _name = take(good, "throughput", at(scheduler, "full"))
    return (twice / full).dropna()


def behind(frame: pd.DataFrame) -> Verdict:
    return statements("stages", APART, {}, [
        Over("latency_p50_ns", at("staged", "low"), at("sharded", "low"), "above", THRESHOLDS["behind"])])(_loads(frame))


def graceful(frame: pd.DataFrame) -> Verdict:
    good = native(_loads(frame), "stages", APART)
    staged, sharded = _kept(good, "staged"), _kept(good, "sharded")
    verdict = all_of([
        above(stats.median(staged.to_numpy(dtype=float)), THRESHOLDS["kept"], "staged: throughput kept at twice the load"),
        above(stats.ratio(staged, sharded), THRESHOLDS["more"], "what staged keeps over what sharded keeps")])
    return because(verdict, good, [at(s, "twice") for s in ("staged", "sharded")])


CLAIMS: dict[str, Predicate] = {
    "staged behind at low load": behind,
    "degrades gracefully past saturation, sharded less so": graceful,
}
