# SPDX-License-Identifier: MIT
"""Row M4.4, section 4.4.4 of M: ways to yield, the native half.

A livelock is a measured result: the metric `livelock` is 1 where each worker has passed so many
scheduling points without a task having run. The thresholds were written down before the matrix
was measured. With hogs=1 what must run belongs to a worker that computes on, so the other worker
has to steal it although its own fibres yield (the source's naive local preference).
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (FAILS, HOLDS, OPEN, TOO_FEW, Predicate, Undecidable,
                                       Verdict, all_of, below, in_short, native)

THRESHOLDS: dict[str, Any] = {
    # fibres that yield: plain LIFO livelocks from here on, and popping first from here on
    "top_from": 1, "pop_from": 2,
    # tasks a second with swap over those with the global queue, where most fibres are blocked
    "slower_share": 1.0,
    # what a yield through the global queue costs, over one to the bottom of the own stack
    "cheap_factor": 1.5,
}
APART = ("workers", "scheduler", "blocked", "hogs", "hard")


def _data(frame: pd.DataFrame) -> pd.DataFrame:
    good = native(frame, "yield", APART)
    return good[good["hard"].isna()] if "hard" in good else good


def _of(good: pd.DataFrame, way: str, hogs: int) -> dict[int, pd.DataFrame]:
    """The rows of one way to yield, by the number of fibres that wait."""
    part = good[good["series"].eq(f"yields:yield={way}") & good["hogs"].eq(hogs)]
    if part.empty:
        where = "beside a hog, which needs two cores" if hogs else "on one worker"
        raise Undecidable(f"no point of yield={way} {where}")
    return {int(k): group for k, group in part.groupby("blocked")}


def _livelock(way: str, k: int, hogs: int, rows: pd.DataFrame, wanted: bool) -> Verdict:
    """All invocations must agree: a livelock that comes now and then is none that is understood."""
    values = stats.by_block(rows, "livelock")
    beside = " beside a hog" if hogs else ""
    name = f"{way}, {k} blocked{beside}: livelocks in {int(values.gt(0).sum())} of {len(values)}"
    judged = {f"{way}, {k} blocked{beside}": {"livelocks": int(values.gt(0).sum()),
                                              "n": len(values)}}
    if len(values) < stats.FEW:
        return Verdict(OPEN, f"{TOO_FEW}: {name}", judged)
    if values.eq(1.0 if wanted else 0.0).all():
        return Verdict(HOLDS, name, judged)
    if values.eq(0.0 if wanted else 1.0).all():
        return Verdict(FAILS, f"{name}, {'all' if wanted else 'none'} expected", judged)
    return Verdict(OPEN, f"{name}: sometimes", judged)


def _each(good: pd.DataFrame, way: str, hogs: int, livelocks_from: int | None) -> list[Verdict]:
    points = _of(good, way, hogs)
    return [_livelock(way, k, hogs, rows, livelocks_from is not None and k >= livelocks_from)
            for k, rows in sorted(points.items())]


def naive_livelocks(frame: pd.DataFrame) -> Verdict:
    good = _data(frame)
    parts = _each(good, "top", 0, THRESHOLDS["top_from"])
    for way in ("pop", "swap", "tail"):
        parts += _each(good, way, 1, 1)
    return in_short(all_of(parts), f"plain LIFO at each of {len(_of(good, 'top', 0))} numbers of "
                    "blocked fibres on one worker; pop, swap and tail beside a hog, whose tasks "
                    "the other worker never steals while it has fibres that yield")


def pop_raises_the_number(frame: pd.DataFrame) -> Verdict:
    good = _data(frame)
    points = _of(good, "pop", 0)
    needed = THRESHOLDS["pop_from"]
    if min(points) >= needed or max(points) < needed:
        raise Undecidable(f"needs points below and from {needed} blocked fibres")
    parts = _each(good, "pop", 0, needed) + _each(good, "top", 0, THRESHOLDS["top_from"])
    return in_short(all_of(parts), "plain LIFO livelocks with 1 blocked fibre, pop-then-push with "
                    f"{needed} and more, and with fewer not")


def swap_works_slower(frame: pd.DataFrame) -> Verdict:
    good = _data(frame)
    swap, other = _of(good, "swap", 0), _of(good, "global", 0)
    most = max(set(swap) & set(other), default=None)
    if most is None:
        raise Undecidable("no number of blocked fibres that both swap and global have")
    works = _each(good, "swap", 0, None)
    ratio = stats.ratio(stats.by_block(swap[most], "throughput"),
                        stats.by_block(other[most], "throughput"))
    slower = below(ratio, THRESHOLDS["slower_share"],
                   f"tasks a second of swap over global with {most} blocked")
    verdict = all_of([*works, slower])
    return in_short(verdict, f"no livelock at {len(works)} numbers of blocked fibres on one "
                    f"worker; {slower.why}")


def global_works_cheap(frame: pd.DataFrame) -> Verdict:
    good = _data(frame)
    works = _each(good, "global", 0, None) + _each(good, "global", 1, None)
    here, local = _of(good, "global", 0), _of(good, "tail", 0)
    costs = [below(stats.ratio(stats.by_block(here[k], "yield"), stats.by_block(local[k], "yield")),
                   THRESHOLDS["cheap_factor"], f"a yield of global over one of tail, {k} fibres")
             for k in sorted(set(here) & set(local)) if k > 1]
    if not costs:
        raise Undecidable("no number of fibres above 1 that both global and tail have")
    return in_short(all_of([*works, *costs]), f"no livelock at {len(works)} points, beside a hog "
                    "too; " + "; ".join(c.why for c in costs))


CLAIMS: dict[str, Predicate] = {
    "plain LIFO and naive local preference livelock": naive_livelocks,
    "pop-then-push only raises the number of blocked tasks needed": pop_raises_the_number,
    "swap works, slower": swap_works_slower,
    "global queue works, cheap": global_works_cheap,
}
