# SPDX-License-Identifier: MIT
"""Points of a run, and what one is over another: what predicates of many rows are made of.

A predicate that says *the metric here over the metric there is above so much* is data: a list of
Over.  Where one fails on simulated rows, it says what the cores waited for at its points.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, Sequence

import pandas as pd

from . import stats, tidy
from .claims import (FAILS, Predicate, Undecidable, Verdict, above, all_of, alike, below,
                     interval_text, native, need, shown)

#: Factor -> its value; of two numbers in a list, the value between them nearest to their middle.
Point = Mapping[str, Any]
#: A metric, or two of which the first is divided by the second.
Metric = str | tuple[str, str]
BOUNDS: dict[str, Callable[[stats.Estimate, float, str], Verdict]] = {
    "above": above, "below": below, "alike": alike}
#: how many of the lines that were waited for are named, and the least share that is worth it
NAMED, LEAST = 2, 0.05
#: of how many points a verdict says what happened there
TOLD = 3


@dataclass(frozen=True)
class Over:
    """The metric at a point, over the same at another one (None: the value itself), is above,
    below or within so much."""

    metric: Metric
    first: Point
    second: Point | None
    bound: str
    limit: float


def statements(program: str, apart: Iterable[str], source: Mapping[str, Sequence[float]],
               parts: Sequence[Over]) -> Predicate:
    """All of them; `apart` and `source` as claims.native() has them."""
    def judge(frame: pd.DataFrame) -> Verdict:
        good = native(frame, program, apart, source)
        judged = [(part, _judge(good, part)) for part in parts]
        verdict = all_of([v for _part, v in judged])
        failed = [p for part, v in judged if v.verdict == FAILS
                  for p in (part.first, part.second) if p is not None]
        return because(verdict, good, failed)
    return judge


def _judge(good: pd.DataFrame, part: Over) -> Verdict:
    values, name = take(good, part.metric, part.first)
    estimate = stats.median(values.to_numpy(dtype=float))
    if part.second is not None:
        divisor, other = take(good, part.metric, part.second)
        estimate, name = stats.ratio(values, divisor), f"{name} over {other}"
    return BOUNDS[part.bound](estimate, part.limit, f"{_text(part.metric)}: {name}")


def _text(metric: Metric) -> str:
    return metric if isinstance(metric, str) else " over ".join(metric)


def rows_at(good: pd.DataFrame, point: Point) -> tuple[pd.DataFrame, str]:
    """The rows of a point, and its name with the values that were found."""
    said = []
    for factor, value in point.items():
        if factor not in good or good[factor].isna().all():
            raise Undecidable(f"no factor {factor} in the data")
        if isinstance(value, (list, tuple)):
            there = {float(x): pd.Series(dtype=float) for x in good[factor].dropna().unique()}
            value = need(there, [value], factor)[0]
        part = good[good[factor].eq(value)]
        if part.empty:
            has = good[factor].dropna().unique()
            known = shown(has) if all(isinstance(v, (int, float)) for v in has) else \
                ", ".join(sorted(map(str, has)))
            raise Undecidable(f"no point at {factor} {value}, only at {known}")
        good = part
        number = isinstance(value, (int, float))
        said.append(f"{factor} {value:g}" if number else str(value))
    return good, ", ".join(said)


def take(good: pd.DataFrame, metric: Metric, point: Point) -> tuple[pd.Series, str]:
    """The values by block at a point, and the point's name."""
    part, name = rows_at(good, point)
    if isinstance(metric, tuple):
        first, second = (take(part, m, {})[0] for m in metric)
        return (first / second.where(second.ne(0))).dropna(), name
    part = part[part["metric"].eq(metric)]
    if part.empty:
        raise Undecidable(f"no {metric} at {name}" if name else f"no {metric}")
    settings = sorted(set(part["series"]))
    if len(settings) > 1:
        raise Undecidable(f"the data mix settings at {name}: {', '.join(settings)}")
    return stats.by_block(part, metric), name


# -- one level deeper -----------------------------------------------------------------------------

def because(verdict: Verdict, good: pd.DataFrame, points: Sequence[Point]) -> Verdict:
    """Where a claim does not hold of simulated rows: what happened at these points."""
    if verdict.verdict == FAILS and good["runtime"].eq("simulate").any():
        said = []
        for point in points:
            try:
                said.append(waiting(*rows_at(good, point)))
            except Undecidable:
                continue
        verdict.why += "".join(f"; {text}" for text in [*dict.fromkeys(said)][:TOLD] if text)
    return verdict


def explained(predicate: Predicate, program: str, points: Sequence[Point]) -> Predicate:
    """A predicate of another kind, which says the same of these points where it fails."""
    def judge(frame: pd.DataFrame) -> Verdict:
        good = tidy.usable(frame)
        return because(predicate(frame), good[good["program"].eq(program)], points)
    return judge


def waiting(rows: pd.DataFrame, name: str) -> str:
    """Stalls, the lines that were waited for longest, and how many steals hit."""
    middle = rows.groupby("metric")["value"].median()
    stall = float(middle.get("sim_stall_ns", 0.0))
    if not stall:
        return ""
    runs = rows["invocation"].nunique()
    waits = rows[rows["metric"].astype(str).str.startswith("sim_wait ")]
    lines = (waits.groupby("metric")["value"].sum() / runs / stall).sort_values(ascending=False)
    lines = lines[lines.gt(LEAST)].head(NAMED)
    text = [f"{share:.0%} of it for {metric.removeprefix('sim_wait ')}"
            for metric, share in lines.items()]
    out = f"at {name} the cores wait {middle['sim_stalls_per_instruction']:.2g} cycles an instruction"
    out += f" ({', '.join(text)})" if text else " (for no line in particular)"
    tries, hits = (float(middle.get(f"counter_steal_{x}", 0.0)) for x in ("try", "hit"))
    return out + (f", and {hits / tries:.2%} of {stats.number(tries)} steals hit" if tries else "")


# -- the size of a run ----------------------------------------------------------------------------

def of_one_size(frame: pd.DataFrame, factor: str | None, sizes: int = 1,
                metric: str = "throughput") -> tuple[pd.DataFrame, list[str]]:
    """Without the points that show whether the size (`factor`) matters, and what they show.

    The size of a run is the one that most of its points have, or the two where a row compares two
    (`sizes`), of which the greater is the one that may be too small."""
    if factor is None or factor not in frame or frame[factor].nunique() <= sizes:
        return frame, []
    kept = frame.drop_duplicates("cell")[factor].value_counts().index[:sizes]
    size = max(kept)
    good, said = tidy.usable(frame), []
    good = good[good["metric"].eq(metric)]
    keys = tidy.varying_factors(good, [c for c in good.columns if c not in tidy.HEAD + tidy.TAIL],
                                (factor,))
    for at, part in good[~good[factor].isin(kept)].groupby([factor, *keys]):
        same = good[good[factor].eq(size)]
        for key, value in zip(keys, at[1:]):
            same = same[same[key].eq(value)]
        if len(same):
            ratio = stats.ratio(stats.by_block(part, metric), stats.by_block(same, metric))
            where = ", ".join(f"{k} {v}" for k, v in zip(keys, at[1:]))
            said.append(f"{metric} with {factor} {at[0]:g} over that with {size:g}, {where}: "
                        f"{interval_text(ratio)}")
    return frame[frame[factor].isin(kept)], said
