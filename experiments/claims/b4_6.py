# SPDX-License-Identifier: MIT
"""Row B4.6, figure 4.6 of B: processor time of an iteration, N cores, N² fibres, N/4 locks.

The thresholds were written down before anything was measured or simulated for this row. Only
points of 16 cores and more decide: with fewer there are as many locks as keep all cores busy, or
half of it, and nobody is idle for long.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.models.contenders import FIBRES, PTHREADS, SPINNING, named
from experiments.runner import stats, tidy
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, all_of, below

THRESHOLDS: dict[str, Any] = {
    "cores": [16, 32],
    # both loops of an iteration, and how many of them are "near" and "far above"
    "floor_ns": 40000, "near": 1.25, "far": 1.5,
}
BLOCKING, IDLING = (FIBRES, PTHREADS, "Go"), (SPINNING, "Boost.Fiber")


def parts(frame: pd.DataFrame, names: tuple[str, ...], far: bool) -> Verdict:
    good = named(tidy.usable(frame))
    good = good[good["metric"].eq("cpu") & good["who"].isin(names) & ~good["oversubscribed"]]
    if good.empty:
        raise Undecidable(f"no processor time of {', '.join(names)} within the cores")
    if not set(good["critical"]) | set(good["other"]) == {THRESHOLDS["floor_ns"] / 2}:
        raise Undecidable("the loops are not of 20 µs")
    low, high = THRESHOLDS["cores"]
    good = good[good["workers"].between(low, high)]
    if good.empty:
        raise Undecidable(f"no point with {low} to {high} workers within the cores")
    judged = []
    for (who, workers), part in good.groupby(["who", "workers"]):
        over = stats.median((stats.by_block(part, "cpu") / THRESHOLDS["floor_ns"]).to_numpy())
        name = f"{who} on {workers:g} cores, over the floor"
        judged.append(above(over, THRESHOLDS["far"], name) if far else below(over, THRESHOLDS["near"], name))
    return all_of(judged)


CLAIMS: dict[str, Predicate] = {
    "blocking runtimes near the floor": lambda frame: parts(frame, BLOCKING, False),
    "those that spin when idle far above": lambda frame: parts(frame, IDLING, True),
}
