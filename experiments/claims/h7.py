# SPDX-License-Identifier: MIT
"""Row H7, sections 3.3.4, 3.3.8 and 4.3 of H.

The flag: the source sets one around each action of its scheduler, so that its handler returns at
once, and found a full barrier there expensive and needless.  Tenter has no flag (its handler reads
off the stack what it has interrupted), so the workload puts one around each yield of a fibre.

The shapes of the latency: the source expects them of a server whose requests are preempted or not. Here
each 60th request to a web server computes for 10 ms; and, without a server, short requests
come by beside fibres that compute for long.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any, Sequence

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (FAILS, HOLDS, OPEN, Predicate, Undecidable, Verdict, above,
                                       alike, all_of, below, native)

THRESHOLDS: dict[str, Any] = {
    # a yield with a full barrier on either side over one with compiler barriers
    "costly": 1.2,
    # one with compiler barriers over one without a flag
    "free": 1.1,
    # a percentile of the latency without preemption over that with it
    "differ": 1.5,
}
PERIOD = "TENTER_PREEMPT_US"
SHAPE = ("latency_p50_ns", "latency_p90_ns", "latency_p99_ns")


def _flags(frame: pd.DataFrame, one: str, other: str) -> stats.Estimate:
    good = native(frame, "flag", ())
    found = []
    for metric in (one, other):
        part = good[good["metric"].eq(metric)]
        if part.empty:
            raise Undecidable(f"no {metric} in the data")
        found.append(stats.by_block(part, metric))
    return stats.ratio(*found)


def costly(frame: pd.DataFrame) -> Verdict:
    return above(_flags(frame, "flag_full", "flag_compiler"), THRESHOLDS["costly"],
                 "a yield, full barrier over compiler barrier")


def free(frame: pd.DataFrame) -> Verdict:
    return below(_flags(frame, "flag_compiler", "flag_none"), THRESHOLDS["free"],
                 "a yield, compiler barrier over no flag")


def _shape(frame: pd.DataFrame, program: str, apart: Sequence[str]) -> Verdict:
    """Differs where one percentile surely does; does not where all surely are alike."""
    good = native(frame, program, (PERIOD, *apart))
    if PERIOD not in good:
        raise Undecidable(f"no factor {PERIOD} in the data")
    period = good[PERIOD].astype(float)
    parts = []
    for metric in SHAPE:
        off, on = (stats.by_block(good[where & good["metric"].eq(metric)], metric)
                   for where in (period.eq(0), period.gt(0)))
        if off.empty or on.empty:
            continue
        parts.append(alike(stats.ratio(off, on), THRESHOLDS["differ"],
                           f"{program}: {metric}, never preempted over preempted"))
    if not parts:
        raise Undecidable(f"no percentile of {program} both with preemption and without")
    swap = {FAILS: HOLDS, HOLDS: FAILS, OPEN: OPEN}
    for wanted in (FAILS, OPEN):
        for part in parts:
            if part.verdict == wanted:
                return Verdict(swap[wanted], part.why, part.judged_by)
    return Verdict(FAILS, "; ".join(p.why for p in parts), parts[0].judged_by)


def shapes(frame: pd.DataFrame) -> Verdict:
    """Of both; servers without a period are for the figure."""
    return all_of([_shape(frame, "mixed", ()), _shape(frame, "loadgen", ("server", "scheduler"))])


CLAIMS: dict[str, Predicate] = {
    "barrier costly": costly,
    "a compiler barrier in its place costs nothing": free,
    "latency shapes differ": shapes,
}
