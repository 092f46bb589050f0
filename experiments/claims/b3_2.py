# SPDX-License-Identifier: MIT
"""Row B3.2, section 3.2.3 of B: what idle workers do, by how far apart arrivals are.

Spinning always answers sooner; the source's question is when it is worth its processor time. It
pays at a point where it costs no more processor time for each arrival than blocking (within
`same_cpu`) and arrivals wait less. Blocking and unblocking take what an arrival costs that blocks
where arrivals are farthest apart. The thresholds were written down before the measurement.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (HOLDS, Predicate, Undecidable, Verdict, above, all_of, below,
                                       figure, native, shown)

THRESHOLDS: dict[str, Any] = {
    # inter-arrival time over block + unblock: clearly closer, clearly farther
    "near": 0.5, "far": 2.0,
    # processor time for each arrival, spin over block: up to this it is the same
    "same_cpu": 1.1,
    # share of a processor that an idle worker may use (block, spin-block)
    "idle_share": 0.01,
}
APART = ("workers", "idle", "rate")
Points = dict[float, pd.DataFrame]


def _points(frame: pd.DataFrame) -> dict[str, Points]:
    """For each idle mode, the rows by inter-arrival time in ns."""
    good = native(frame, "arrivals", APART)
    out: dict[str, Points] = {}
    for (mode, rate), rows in good.groupby(["idle", "rate"]):
        out.setdefault(str(mode), {})[1e9 / float(rate)] = rows
    return out


def _ratio(points: dict[str, Points], at: float, metric: str) -> stats.Estimate:
    return stats.ratio(*(stats.by_block(points[m][at], metric) for m in ("spin", "block")))


def spinning_pays_when_close(frame: pd.DataFrame) -> Verdict:
    points = _points(frame)
    missing = [m for m in ("block", "spin") if m not in points]
    if missing:
        raise Undecidable(f"no point of {' and '.join(missing)}")
    block = points["block"]
    cost = stats.median(stats.by_block(block[max(block)], "cpu").to_numpy())
    both = sorted(set(block) & set(points["spin"]))
    near = [t for t in both if t <= THRESHOLDS["near"] * cost.value]
    far = [t for t in both if t >= THRESHOLDS["far"] * cost.value]
    if not near or not far:
        raise Undecidable(f"block and unblock take {cost.value / 1e3:.1f} us; needs inter-arrival "
                          f"times below half and above twice that, has (us) "
                          f"{shown([t / 1e3 for t in both])}")
    parts = []
    for t in near:
        name = f"spin over block at {t / 1e3:g} us"
        parts += [below(_ratio(points, t, "cpu"), THRESHOLDS["same_cpu"], f"cpu of {name}"),
                  below(_ratio(points, t, "latency_median"), 1.0, f"latency of {name}")]
    for t in far:
        parts.append(above(_ratio(points, t, "cpu"), THRESHOLDS["same_cpu"],
                           f"cpu of spin over block at {t / 1e3:g} us"))
    verdict = all_of(parts)
    verdict.judged_by["block and unblock, ns"] = figure(cost)
    verdict.why = (f"block and unblock take {cost.value / 1e3:.1f} us, spinning must pay at "
                   f"{shown([t / 1e3 for t in near])} us and not at "
                   f"{shown([t / 1e3 for t in far])} us: {verdict.why}")
    return verdict


def idle_workers_sleep(frame: pd.DataFrame) -> Verdict:
    points, parts = _points(frame), []
    for mode in ("block", "spin-block"):
        if mode not in points:
            raise Undecidable(f"no point of {mode}")
        for t, rows in sorted(points[mode].items()):
            share = stats.median(stats.by_block(rows, "idle_share").to_numpy())
            parts.append(below(share, THRESHOLDS["idle_share"],
                               f"{mode}, after arrivals {t / 1e3:g} us apart: share"))
    verdict = all_of(parts)
    if verdict.verdict == HOLDS:
        worst = max(v["value"] for v in verdict.judged_by.values() if isinstance(v, dict))
        verdict.why = f"at most {100 * worst:.3f} % at {len(parts)} points"
    return verdict


CLAIMS: dict[str, Predicate] = {
    "spinning pays only when arrivals are closer than block+unblock": spinning_pays_when_close,
    "less than 1 % of a processor for each idle worker (block, spin-block)": idle_workers_sleep,
}
