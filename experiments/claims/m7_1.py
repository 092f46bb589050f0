# SPDX-License-Identifier: MIT
"""Row M7.1, figure 7.1 of M: packet server, 50 k packets, fifo and lifo, 5 to 115 workers.

The thresholds were written down before anything was measured.  Claims about 20, 45 or 80 workers
need that many cores (or simulated ones); nothing is judged outside the source's own range.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (HOLDS, FAILS, OPEN, Curve, Predicate, Undecidable, Verdict,
                                       above, alike, all_of, below, curve, deeper, figure, highest,
                                       interval_text, lowest, native, need, shown, undecided,
                                       within)
from experiments.runner.points import Point, explained

THRESHOLDS: dict[str, Any] = {
    # the source's 5 to 115 workers, with what counts as its ends: no point outside is judged by
    "workers": [4, 120],
    # [least, greatest] workers that count as "5", "20", "80" and "the end" (115)
    "at_5": [4, 6], "at_20": [18, 22], "at_80": [75, 85], "at_end": [100, 120],
    # throughput at 20 over that at 5: the ideal is 4, half of it is called steep
    "steep_factor": 2.0,
    # workers that count as "near" the maximum, and points that must lie on either side
    "lifo_near": [15, 30], "fifo_near": [60, 90],
    # fifo is flat where its least throughput in 20…80 is at least this share of its greatest
    "flat_share": 0.8,
    # a pronounced drop of fifo: throughput at the end over that at 80
    "drop_share": 0.85,
    # latencies have converged where lifo / fifo is within this factor at every point after 20
    "converged_factor": 1.5,
    # beyond this number of workers the median of the retries is 0
    "retries_after": 45, "retries_median": 0.0,
    # fifo and lifo are alike: throughput and time, and latency percentiles, within these factors
    "alike_throughput": 1.25, "alike_latency": 2.0,
}
LATENCIES = ("latency_p50_ns", "latency_p99_ns", "latency_p99_99_ns")
BOTH = ("fifo", "lifo")
APART = ("workers", "scheduler")


def _data(frame: pd.DataFrame) -> pd.DataFrame:
    return native(frame, "packet", APART, {"workers": THRESHOLDS["workers"]})


def _need(points: Curve, *names: str) -> list[float]:
    return need(points, [THRESHOLDS[name] for name in names])


def _over(points: Curve, first: float, second: float, series: str) -> tuple[stats.Estimate, str]:
    ratio = stats.ratio(points[first], points[second])
    return ratio, f"{series}: throughput at {first:g} / at {second:g}"


def steep_rise(frame: pd.DataFrame) -> Verdict:
    good, parts = _data(frame), []
    for series in BOTH:
        points = curve(good, "throughput", series)
        start, end = _need(points, "at_5", "at_20")
        parts.append(above(*_named(_over(points, end, start, series), "steep_factor")))
    return all_of(parts)


def _named(over: tuple[stats.Estimate, str], name: str) -> tuple[stats.Estimate, float, str]:
    return over[0], float(THRESHOLDS[name]), over[1]


def _peak(frame: pd.DataFrame, series: str, window: list[float]) -> Verdict:
    """The maximum lies in the window: its best point against the best one outside."""
    points = curve(_data(frame), "throughput", series)
    need(points, [*(THRESHOLDS[n] for n in ("at_5", "at_20", "at_80", "at_end")), window])
    inside = within(points, *window)
    outside = {x: v for x, v in points.items() if x not in inside}
    best, rival = highest(inside), highest(outside)
    ratio, name = _over(points, best, rival, series)
    return above(ratio, 1.0, name)


def lifo_peak(frame: pd.DataFrame) -> Verdict:
    return _peak(frame, "lifo", THRESHOLDS["lifo_near"])


def fifo_peak(frame: pd.DataFrame) -> Verdict:
    return _peak(frame, "fifo", THRESHOLDS["fifo_near"])


def lifo_degrades(frame: pd.DataFrame) -> Verdict:
    points = curve(_data(frame), "throughput", "lifo")
    peak, later = _need(points, "at_20", "at_80")
    ratio, name = _over(points, later, peak, "lifo")
    return below(ratio, 1.0, name)


def lifo_degrades_faster(frame: pd.DataFrame) -> Verdict:
    """Loss a worker (slope of the logarithm) past 80 against that between 20 and 80."""
    points = curve(_data(frame), "throughput", "lifo")
    a, b, c = _need(points, "at_20", "at_80", "at_end")
    table = pd.concat([points[x] for x in (a, b, c)], axis=1, join="inner").to_numpy(dtype=float)
    if len(table) == 0:
        raise Undecidable("no block has all three points")
    logs = np.log(table)
    early, late = (logs[:, 1] - logs[:, 0]) / (b - a), (logs[:, 2] - logs[:, 1]) / (c - b)
    name = f"lifo: change a worker in percent, {b:g} to {c:g} less {a:g} to {b:g}"
    steeper = below(stats.median(100 * (late - early)), 0.0, name)
    falls = below(stats.median(100 * late), 0.0,
                  f"lifo: change a worker in percent, {b:g} to {c:g}")
    return all_of([steeper, falls])


def fifo_flat(frame: pd.DataFrame) -> Verdict:
    points = curve(_data(frame), "throughput", "fifo")
    start, end = _need(points, "at_20", "at_80")
    flat = within(points, start, end)
    if len(flat) < 3:
        raise Undecidable(f"needs at least three points from 20 to 80 workers, has {shown(flat)}")
    ratio, name = _over(points, lowest(flat), highest(flat), "fifo")
    return above(ratio, THRESHOLDS["flat_share"], name)


def fifo_drop(frame: pd.DataFrame) -> Verdict:
    points = curve(_data(frame), "throughput", "fifo")
    before, after = _need(points, "at_80", "at_end")
    return below(*_named(_over(points, after, before, "fifo"), "drop_share"))


def _compare(good: pd.DataFrame, metric: str, factor: float,
             after: float = -math.inf) -> list[tuple[float, Verdict]]:
    """lifo over fifo at each point that both have."""
    fifo, lifo = (curve(good, metric, s) for s in BOTH)
    return [(x, alike(stats.ratio(lifo[x], fifo[x]), factor, f"{metric} lifo/fifo at {x:g}"))
            for x in sorted(set(fifo) & set(lifo)) if x > after]


def latencies_converge(frame: pd.DataFrame) -> Verdict:
    good = _data(frame)
    start, _middle, _end = _need(curve(good, "throughput", "fifo"), "at_20", "at_80", "at_end")
    parts, missing = [], []
    for metric in LATENCIES:
        try:
            parts += _compare(good, metric, THRESHOLDS["converged_factor"], after=start)
        except Undecidable:
            missing.append(metric)
    if not parts:
        raise Undecidable(f"no {' and no '.join(missing)}")
    verdict = all_of([p for _x, p in parts])
    if missing:
        verdict.why += f"; without {', '.join(missing)} (too few samples an invocation)"
        if verdict.verdict == HOLDS and len(missing) > 1:
            verdict.verdict = OPEN
    elif verdict.verdict == HOLDS:
        worst = max((v for v in verdict.judged_by.values() if isinstance(v, dict)),
                    key=lambda v: abs(math.log(v["value"])))
        verdict.why = (f"all {len(parts)} ratios lifo/fifo are within a factor of "
                       f"{THRESHOLDS['converged_factor']:g}; the farthest is {worst['value']:.2f}")
    return verdict


def retries_zero(frame: pd.DataFrame) -> Verdict:
    good, parts = _data(frame), []
    limit = THRESHOLDS["retries_after"]
    for series in BOTH:
        points = {x: v for x, v in curve(good, "retries", series).items() if x > limit}
        if len(points) < 2:
            raise Undecidable(f"needs at least two points beyond {limit} workers within the cores, "
                              f"has {shown(points)}")
        for x, values in sorted(points.items()):
            estimate = stats.median(values.to_numpy())
            name = f"{series}: retries at {x:g}"
            text, judged = f"{name} {interval_text(estimate)}", {name: figure(estimate)}
            good_here = estimate.value <= THRESHOLDS["retries_median"]
            parts.append(undecided(estimate, text, judged)
                         or Verdict(HOLDS if good_here else FAILS, text, judged))
    verdict = all_of(parts)
    if verdict.verdict == HOLDS:
        verdict.why = f"the median is 0 at all {len(parts)} points beyond {limit} workers"
    return verdict


def alike_throughout(frame: pd.DataFrame) -> Verdict:
    """Judged at the core counts that this machine has, and says which those are.

    One point in the source's range can refute it; to hold it takes the whole of the range."""
    good = _data(frame)
    parts = _compare(good, "throughput", THRESHOLDS["alike_throughput"])
    xs = sorted({x for x, _p in parts})
    missing = []
    for metric in LATENCIES:
        try:
            parts += _compare(good, metric, THRESHOLDS["alike_latency"])
        except Undecidable:
            missing.append(metric)
    if not parts:
        raise Undecidable("no point that both fifo and lifo have")
    verdict = all_of([p for _x, p in parts])
    scope = f"judged at workers {shown(xs)}, within the cores; the source has 5 to 115"
    if verdict.verdict == HOLDS:
        _need(curve(good, "throughput", "fifo"), "at_5", "at_20", "at_80", "at_end")
    if missing:
        scope += f"; without {', '.join(missing)} (too few samples an invocation)"
        if verdict.verdict == HOLDS and len(missing) > 1:
            verdict.verdict = OPEN
    if verdict.verdict == FAILS:
        x = next(x for x, p in parts if p.verdict == FAILS)
        verdict.why += "; " + deeper(good, "fifo", "lifo", x)
    elif verdict.verdict == HOLDS:
        verdict.why = (f"throughput within a factor of {THRESHOLDS['alike_throughput']:g} and "
                       f"latencies within {THRESHOLDS['alike_latency']:g} at every point")
    verdict.why = f"{scope}: {verdict.why}"
    return verdict


def _at(series: str, *names: str) -> list[Point]:
    return [{"scheduler_said": series, "workers": THRESHOLDS[name]} for name in names]


#: each with the points of which is said, where it fails of simulated rows, what happened there
JUDGED: dict[str, tuple[Predicate, list[Point]]] = {
    "steep rise of the throughput up to 20 workers": (steep_rise, _at("fifo", "at_5", "at_20")),
    "lifo's maximum near 20": (lifo_peak, _at("lifo", "at_20", "at_80")),
    "lifo degrades after 20": (lifo_degrades, _at("lifo", "at_20", "at_80")),
    "lifo degrades faster past 80": (lifo_degrades_faster, _at("lifo", "at_80", "at_end")),
    "fifo's maximum near 80": (fifo_peak, _at("fifo", "at_20", "at_80")),
    "fifo flat from 20 to 80": (fifo_flat, _at("fifo", "at_20", "at_80")),
    "fifo drops after 80": (fifo_drop, _at("fifo", "at_80", "at_end")),
    "latencies of fifo and lifo converge after 20":
        (latencies_converge, _at("fifo", "at_end") + _at("lifo", "at_end")),
    "median of the spawner's retries is 0 beyond 45": (retries_zero, _at("fifo", "at_80", "at_end")),
    "fifo ≈ lifo throughout": (alike_throughout, _at("fifo", "at_end") + _at("lifo", "at_end")),
}
CLAIMS: dict[str, Predicate] = {
    claim: explained(predicate, "packet", at) for claim, (predicate, at) in JUDGED.items()}
