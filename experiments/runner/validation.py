# SPDX-License-Identifier: MIT
"""Simulated against measured: a ratio for each point that both have, the median error, and whether the rankings agree.

The simulated machine runs nothing else, and what else runs on the real one only adds to a time. So what is held against each
other is the lower quartile of what was measured, over the blocks, as the calibration takes it (of a rate, the upper one), and
the median of what was simulated, which differs by the seed alone.
"""
from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass

import pandas as pd

from . import stats, tidy

#: counts of the run, which say nothing of time
LEFT_OUT = ("counter_", "retries", "phys_", "throughput")       # throughput is `time` again
PERCENTILES = ("latency_p50_ns", "latency_p99_ns")
#: with more than so many times the operations on one side the two have not done the same: what is done once (a cold line, a
#: thread's start) has another share
OPERATIONS = 10
#: what the aim is: docs/simulating.md
AIM = 0.30


@dataclass(frozen=True)
class Point:
    """What was simulated and measured, and the ratio of the two; its bounds are those of the greatest and the least measured."""

    program: str
    metric: str
    series: str
    workers: float
    unit: str
    simulated: float
    measured: tuple[float, float, float]        # the better quartile, least, greatest over the blocks
    ratio: stats.Estimate
    operations: float                           # of a repetition, simulated over measured; 1 where they are not counted

    @property
    def comparable(self) -> bool:
        return 1 / OPERATIONS <= self.operations <= OPERATIONS

    @property
    def error(self) -> float:
        return abs(self.ratio.value - 1)

    def name(self) -> str:
        return f"{self.program} {self.metric}{', ' + self.series if self.series else ''}, {self.workers:g} w"


def quiet(native: pd.Series, unit: str) -> float:
    """What the machine does when little else runs on it."""
    return float(native.quantile(0.75 if unit.endswith("/s") else 0.25))


def points(frame: pd.DataFrame) -> list[Point]:
    """In the order of the record. A metric that only one side has is left out."""
    good = tidy.usable(frame)
    counted = good[good["metric"].str.match("counter_.*_ops$")]
    good = good[good["metric"].isin(PERCENTILES) | ~good["rep"].astype(str).isin(["pooled", "total"])]
    good = good[~good["metric"].str.startswith(LEFT_OUT)]
    good = good.assign(who=good["scheduler"].fillna("") if "scheduler" in good else "",
                       over=good["workers"].fillna(0) if "workers" in good else 0)
    out = []
    for (program, metric, series, workers), part in good.groupby(["program", "metric", "who", "over"], sort=False):
        sim = stats.by_block(part[part["runtime"].eq("simulate")], metric)
        native = stats.by_block(part[part["runtime"].eq("native")], metric)
        if sim.empty or native.empty or not native.min() > 0:
            continue
        unit = str(part["unit"].iloc[0])
        simulated, measured = float(sim.median()), quiet(native, unit)
        ratio = stats.Estimate(simulated / measured, simulated / float(native.max()), simulated / float(native.min()), len(native))
        ops = counted[counted["metric"].eq(f"counter_{metric}_ops") & counted["invocation"].isin(part["invocation"])]
        times = [ops[ops["runtime"].eq(side)]["value"].median() for side in ("simulate", "native")]
        out.append(Point(str(program), str(metric), str(series), float(workers), unit, simulated,
                         (measured, float(native.min()), float(native.max())), ratio,
                         times[0] / times[1] if all(t > 0 for t in times) else 1.0))
    return out


def median_error(found: list[Point]) -> float:
    return statistics.median(p.error for p in found)


def rankings(found: list[Point]) -> tuple[int, list[tuple[Point, Point]]]:
    """Of the pairs of one program and unit whose measured ranges do not overlap: how many there are, and those that the
    simulator ranks the other way."""
    clear, wrong = 0, []
    for a, b in itertools.combinations(found, 2):
        if (a.program, a.unit) != (b.program, b.unit) or a.metric.startswith("latency") != b.metric.startswith("latency"):
            continue
        if a.measured[1] > b.measured[1]:
            a, b = b, a
        if a.measured[2] >= b.measured[1]:
            continue
        clear += 1
        if a.simulated >= b.simulated:
            wrong.append((a, b))
    return clear, wrong


def summary(found: list[Point]) -> list[str]:
    """What it comes to, in sentences."""
    uneven, found = [p for p in found if not p.comparable], [p for p in found if p.comparable]
    left = f"Not counted, since one side did more than {OPERATIONS} times the operations of the other: " \
           f"{'; '.join(p.name() for p in uneven)}."
    if not found:
        return [left]
    error, (clear, wrong) = median_error(found), rankings(found)
    out = [f"Median error {100 * error:.0f} % over {len(found)} points ({'within' if error < AIM else 'not within'} the aim "
           f"of {100 * AIM:.0f} %); the farthest is {max(found, key=lambda p: abs(math.log(p.ratio.value))).name()}.",
           f"Rankings: {clear - len(wrong)} of {clear} pairs of one program whose measured ranges do not overlap agree."]
    if wrong:
        said = "; ".join(f"{a.name()} before {b.name()}" for a, b in wrong[:4])
        out.append(f"Measured, but not simulated: {said}{f'; and {len(wrong) - 4} more' if len(wrong) > 4 else ''}.")
    return out + [left] * bool(uneven)
