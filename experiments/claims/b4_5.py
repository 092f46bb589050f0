# SPDX-License-Identifier: MIT
"""Row B4.5, figure 4.5 of B: the lock benchmark with 1024 fibres on 32 cores, by the length of its loops.

The thresholds were written down before anything was measured or simulated for this row. Spinning
idlers (Boost, Qthreads) and a shared ready queue (µC++) stand for what the source compared.
"""
from __future__ import annotations

from typing import Any, Callable, Sequence

import pandas as pd

from experiments.models.contenders import FIBRES, SHARED, named
from experiments.runner import points, stats, tidy
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, alike, all_of, below

THRESHOLDS: dict[str, Any] = {
    "cores": 32,
    # "all alike": throughput over that of fibres, in their own of one alone, at loops of this many ns
    "alike": 1.25, "alike_at": [20000, 40000, 70000, 100000],
    # and the shared queue is not, below where it rises
    "apart": 0.8, "apart_at": [10000, 20000, 40000],
    # "reasonable": half of the cores
    "reasonable": 16, "reasonable_at": 20000,
    # "rises only from 55 to 70 µs": less than a quarter of the cores before, more than half of them behind
    "before": 8, "before_at": [10000, 20000, 40000], "behind": 16, "behind_at": [70000, 100000],
}


def rows_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The usable rows with `who`, on so many cores or with one alone."""
    good = named(tidy.usable(frame))
    if good.empty:
        raise Undecidable("no usable row of the lock benchmark")
    alone = good["workers"].eq(1) & good["fibres"].eq(1)
    many = good["workers"].eq(THRESHOLDS["cores"]) & ~good["oversubscribed"]
    if not many.any():
        has = sorted(set(good.loc[~good["oversubscribed"], "workers"].astype(int)) - {1})
        raise Undecidable(f"no point with {THRESHOLDS['cores']} workers within the cores, only with "
                          f"{', '.join(map(str, has)) or 'one'}")
    mixed = tidy.varying_factors(good[many], ["locks", "fibres"], ())
    if mixed:
        raise Undecidable(f"the data mix values of {', '.join(mixed)}")
    return good[alone | many].assign(alone=alone[alone | many])


def scaled(good: pd.DataFrame, who: str, loop: float) -> pd.Series:
    """By block: throughput on all cores in that of one alone."""
    mine = good[good["who"].eq(who) & good["critical"].eq(loop) & good["metric"].eq("throughput")]
    one, many = (stats.by_block(mine[mine["alone"].eq(a)], "throughput") for a in (True, False))
    if one.empty or many.empty:
        raise Undecidable(f"no throughput of {who} at loops of {loop:g} ns" + ("" if many.empty else ", one alone"))
    return (many / one).dropna()


def others(good: pd.DataFrame) -> list[str]:
    return sorted(set(good["who"]) - {FIBRES, SHARED})


def _text(who: str, loop: float) -> str:
    return f"{who} at {loop / 1000:g} µs"


def all_alike(frame: pd.DataFrame) -> Verdict:
    good = rows_of(frame)
    if not others(good):
        raise Undecidable("nobody but fibres and the shared queue in the data")
    parts = [alike(stats.ratio(scaled(good, who, loop), scaled(good, FIBRES, loop)), THRESHOLDS["alike"],
                   f"{_text(who, loop)} over {FIBRES}")
             for who in others(good) for loop in THRESHOLDS["alike_at"]]
    parts += [below(stats.ratio(scaled(good, SHARED, loop), scaled(good, FIBRES, loop)), THRESHOLDS["apart"],
                    f"{_text(SHARED, loop)} over {FIBRES}") for loop in THRESHOLDS["apart_at"]]
    return all_of(parts)


def each(names: Callable[[pd.DataFrame], Sequence[str]],
         bounds: Sequence[tuple[Callable[[stats.Estimate, float, str], Verdict], str, Sequence[float]]]) -> Predicate:
    def judge(frame: pd.DataFrame) -> Verdict:
        good = rows_of(frame)
        return all_of([bound(stats.median(scaled(good, who, loop).to_numpy()), THRESHOLDS[limit],
                             f"{_text(who, loop)}, in one alone")
                       for who in names(good) for bound, limit, loops in bounds for loop in loops])
    return judge


CLAIMS: dict[str, Predicate] = {
    "all alike but the shared queue": all_alike,
    "reasonable scaling at 20 µs": each(lambda good: [FIBRES, *others(good)],
                                        [(above, "reasonable", [THRESHOLDS["reasonable_at"]])]),
    "shared queue rises only from 55–70 µs": each(lambda _good: [SHARED],
                                                  [(below, "before", THRESHOLDS["before_at"]),
                                                   (above, "behind", THRESHOLDS["behind_at"])]),
}
# where one does not hold of simulated rows: what the cores waited for
CLAIMS = {name: points.explained(judge, "locks", [{"workers": THRESHOLDS["cores"], "critical": 20000.0, "scheduler": s}
                                                  for s in ("pushing:preset=fibre", "skeleton")])
          for name, judge in CLAIMS.items()}
