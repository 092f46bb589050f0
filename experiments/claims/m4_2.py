# SPDX-License-Identifier: MIT
"""Row M4.2, section 4.2.2 of M: hybrids of fifo and lifo on the throughput-tail plane.

The source names the hybrids and measured none; it expects new points in the trade-off.  The
thresholds were written down before the matrix was measured.  A hybrid lies between fifo and lifo
where neither its throughput nor its tail is beyond both of theirs.  That says something only where
the two themselves can be told apart, by the tail at least.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (HOLDS, Predicate, Undecidable, Verdict, above, all_of,
                                       at_each, below, native)

THRESHOLDS: dict[str, Any] = {
    # how far beyond an end still counts as at that end, on either axis
    "slack": 1.05,
    # the axes of the plane
    "axes": ["throughput", "latency_p99_ns"],
}
APART = ("workers", "scheduler")
ENDS = ("fifo", "lifo")


def _module(series: str) -> str:
    """That of a series: "fifo:private=0", "fifo (simulated)"."""
    return series.split(":")[0].split(" ")[0]


def _values(part: pd.DataFrame, metric: str) -> dict[str, pd.Series]:
    """The metric by block of each series."""
    rows = part[part["metric"].eq(metric)]
    return {str(name): stats.by_block(group, metric) for name, group in rows.groupby("series")}


def _ends(values: dict[str, pd.Series]) -> list[str]:
    """The series of fifo and of lifo, the lower one of the two first."""
    found = []
    for end in ENDS:
        mine = [s for s in values if _module(s) == end]
        if len(mine) != 1:
            raise Undecidable(f"{len(mine)} settings of {end}, one is needed")
        found += mine
    return sorted(found, key=lambda s: float(values[s].median()))


def _apart(part: pd.DataFrame) -> bool:
    """Can the tails of fifo and lifo be told apart?"""
    values = _values(part, THRESHOLDS["axes"][1])
    low, high = _ends(values)
    ratio = stats.ratio(values[high], values[low])
    return ratio.decides and ratio.low > THRESHOLDS["slack"]


def _between(part: pd.DataFrame, workers: float) -> list[Verdict]:
    out, slack = [], THRESHOLDS["slack"]
    for axis in THRESHOLDS["axes"]:
        values = _values(part, axis)
        low, high = _ends(values)
        for name in sorted(s for s in values if _module(s) == "hybrid"):
            where = f"{axis} of {name} over that of"
            out.append(above(stats.ratio(values[name], values[low]), 1 / slack,
                             f"{where} {low} at {workers:g} workers"))
            out.append(below(stats.ratio(values[name], values[high]), slack,
                             f"{where} {high} at {workers:g} workers"))
    return out


def between(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "packet", APART)
    points = [(x, part) for x, part in at_each(good, "workers") if _apart(part)]
    if not points:
        raise Undecidable("the tails of fifo and lifo cannot be told apart at any number of workers")
    parts = [v for x, part in points for v in _between(part, x)]
    if not parts:
        raise Undecidable("no point of a hybrid")
    verdict = all_of(parts)
    if verdict.verdict == HOLDS:
        count = len({s for _x, part in points for s in part["series"] if s.startswith("hybrid")})
        verdict.why = (f"{count} hybrids lie between fifo and lifo, or within a factor of "
                       f"{THRESHOLDS['slack']:g} of either, in throughput and in p99, at workers "
                       + ", ".join(f"{x:g}" for x, _part in points))
    return verdict


CLAIMS: dict[str, Predicate] = {
    "points between fifo and lifo on the throughput–tail plane": between,
}
