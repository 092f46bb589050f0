# SPDX-License-Identifier: MIT
"""Row M7.14, section 2.4.2 of M: the audio mixer, whose fibres yield while they wait for each other.

The source describes the workload only; the claims are what its chapters 3 and 4 lead one to expect.  The thresholds were
written down before anything was measured for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, all_of, native
from experiments.runner.points import Over, Point, statements, take

THRESHOLDS: dict[str, Any] = {
    # the deadline is met where no more than this share of the frames misses it
    "met": 0.01,
    # longest: of the numbers of calls, fifo meets it at more than each of the others; there must be so many
    "levels": 3, "longest": 1.0,
    # a few calls: what is there that is nearest to the middle of it
    "few": [50, 150],
    # without the yield queue more than this share of them is missed even then, with it less than that
    "stuck": 0.5, "fine": 0.05,
}
APART = ("scheduler", "calls", "wait-by", "codec", "legs")
OTHERS = ("lifo", "sharded")


def at(scheduler: str, calls: Any) -> Point:
    return {"scheduler": scheduler, "calls": calls, "wait-by": "yield", "codec": "ulaw"}


def _levels(good: pd.DataFrame, scheduler: str) -> pd.Series:
    """By block, at how many numbers of calls, from the least on, it meets the deadline; one more, to be divided by."""
    there = good[good["scheduler"].eq(scheduler) & good["codec"].eq("ulaw") & good["wait-by"].eq("yield")]
    calls = sorted(int(n) for n in there["calls"].unique())
    if len(calls) < THRESHOLDS["levels"]:
        raise Undecidable(f"{scheduler}: fewer than {THRESHOLDS['levels']} numbers of calls")
    met = pd.concat([take(good, "missed", at(scheduler, n))[0].le(THRESHOLDS["met"]) for n in calls], axis=1)
    return met.astype(int).cumprod(axis=1).sum(axis=1) + 1


def longest(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "mixer", APART)
    fifo = _levels(good, "fifo")
    return all_of([above(stats.ratio(fifo, _levels(good, other)), THRESHOLDS["longest"],
                         f"numbers of calls at which the deadline is met, and one: fifo over {other}") for other in OTHERS])


CLAIMS: dict[str, Predicate] = {
    "fifo meets the deadline longest": longest,
    "lifo needs the yield queue": statements("mixer", APART, {}, [
        Over("missed", at("yields:yield=top", THRESHOLDS["few"]), None, "above", THRESHOLDS["stuck"]),
        Over("missed", at("lifo", THRESHOLDS["few"]), None, "below", THRESHOLDS["fine"])]),
}
