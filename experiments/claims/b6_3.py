# SPDX-License-Identifier: MIT
"""Row B6.3, figure 6.3 of B: the lock benchmark on threads, one for each of 1 to 32 cores, and its models.

The thresholds were written down before anything was measured or simulated for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.models import locks
from experiments.models.contenders import PTHREADS, THREADS, named
from experiments.runner import stats, tidy
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, all_of, alike, below, in_short, span

THRESHOLDS: dict[str, Any] = {
    "cores": 32, "locks": 16,
    # "shape": each point over the one of all cores is what mean value analysis says, within this factor
    "shape": 1.25, "points": 4,
    # "≈ 13 at 10 µs" within a quarter, "> 21 at 1 ms"
    "short_ns": 10000, "short": [9.75, 16.25], "long_ns": 1000000, "long": 21,
}


def worked(frame: pd.DataFrame) -> dict[tuple[str, float], dict[float, pd.Series]]:
    """For each kind of threads and each loop: by number of threads, throughput over that of one, by block."""
    good = named(tidy.usable(frame))
    good = good[good["metric"].eq("throughput") & good["who"].isin((PTHREADS, THREADS)) & ~good["oversubscribed"]]
    good = good[good["locks"].eq(THRESHOLDS["locks"]) & good["fibres"].eq(good["workers"])]
    if good.empty:
        raise Undecidable(f"no usable row of threads with {THRESHOLDS['locks']} locks within the cores")
    out: dict[tuple[str, float], dict[float, pd.Series]] = {}
    for (who, loop), part in good.groupby(["who", "critical"]):
        by = {float(n): stats.by_block(here, "throughput") for n, here in part.groupby("workers")}
        if 1.0 in by:
            out[str(who), float(loop)] = {n: (v / by[1.0]).dropna() for n, v in by.items()}
    most = max((n for by in out.values() for n in by), default=0)
    if most < THRESHOLDS["cores"]:
        raise Undecidable(f"no point with {THRESHOLDS['cores']} threads, each with a core: at most {most:g}")
    return out


def shape(frame: pd.DataFrame) -> Verdict:
    loop, all_cores = locks.Loop(THRESHOLDS["locks"], 1, 1), THRESHOLDS["cores"]
    said = {n: locks.mva(loop, n).throughput for n in range(1, all_cores + 1)}
    parts, ratios = [], []
    for (who, length), by in worked(frame).items():
        if all_cores not in by or len(by) < THRESHOLDS["points"]:
            raise Undecidable(f"fewer than {THRESHOLDS['points']} points of {who} at {length / 1000:g} µs")
        for n, here in by.items():
            if n < all_cores:
                ratio = stats.ratio(here * said[all_cores] / said[int(n)], by[all_cores])
                ratios.append(ratio)
                parts.append(alike(ratio, THRESHOLDS["shape"], f"{who} at {length / 1000:g} µs, {n:g} threads over "
                                   f"{all_cores}, in that of the model"))
    return in_short(all_of(parts), f"{len(parts)} points, each over that of {all_cores} threads, are {span(ratios)} of what "
                    f"mean value analysis says, within a factor of {THRESHOLDS['shape']}")


def heights(frame: pd.DataFrame) -> Verdict:
    found = worked(frame)
    parts = []
    for (who, length), by in found.items():
        here = stats.median(by[THRESHOLDS["cores"]].to_numpy()) if THRESHOLDS["cores"] in by else None
        name = f"{who} at {length / 1000:g} µs, {THRESHOLDS['cores']} threads over one"
        if here is not None and length == THRESHOLDS["short_ns"]:
            low, high = THRESHOLDS["short"]
            parts += [above(here, low, name), below(here, high, name)]
        elif here is not None and length == THRESHOLDS["long_ns"]:
            parts.append(above(here, THRESHOLDS["long"], name))
    if {length for _who, length in found} < {THRESHOLDS["short_ns"], THRESHOLDS["long_ns"]} or not parts:
        raise Undecidable("no points of both loops")
    return all_of(parts)


CLAIMS: dict[str, Predicate] = {"shape of the models": shape, "≈ 13 at 10 µs, > 21 at 1 ms": heights}
