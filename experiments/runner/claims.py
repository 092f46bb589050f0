# SPDX-License-Identifier: MIT
"""What the predicates of experiments/claims/ are made of, and how they are found and run.

A predicate looks at the tidy table and returns one of three verdicts.  It never looks at points
with more workers than cores: they say nothing of a machine that has the cores.
"""
from __future__ import annotations

import importlib.util
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Iterable, Mapping, Sequence

import pandas as pd
import yaml

from . import stats, tidy

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable here"
TOO_FEW = f"fewer than {stats.FEW} blocks"
ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "claims"
ROWS = ROOT / "experiments" / "rows.yaml"

Curve = dict[float, pd.Series]


class Undecidable(Exception):
    """The data cannot decide the claim; the message says what is missing."""


@dataclass
class Verdict:
    """What a predicate came to, why, and the figures that it judged by."""

    verdict: str
    why: str
    judged_by: dict[str, Any] = field(default_factory=dict)


@dataclass
class Judged:
    """A verdict with the claim that it is about."""

    claim: str
    verdict: str
    why: str
    judged_by: dict[str, Any]

    def line(self) -> str:
        return f"{self.verdict}: {self.claim} ({self.why})"

    def plain(self) -> dict[str, Any]:
        return asdict(self)


Predicate = Callable[[pd.DataFrame], Verdict]


# -- looking at the data --------------------------------------------------------------------------

def native(frame: pd.DataFrame, program: str, apart_from: Iterable[str],
           source: Mapping[str, Sequence[float]] | None = None) -> pd.DataFrame:
    """Usable rows of a program within the cores; one condition only, apart from the factors named.

    Two values of any other factor would mix two experiments, which no predicate may do.  `source`
    has for a factor the least and the greatest value for which the source makes its claims: points
    outside say nothing of them, whichever way they come out, and are left out."""
    good = tidy.usable(frame)
    good = good[good["program"].eq(program)]
    if good.empty:
        raise Undecidable(f"no usable row of {program}")
    good = good[~good["oversubscribed"]]
    if good.empty:
        raise Undecidable("every point has more workers than cores")
    known = set(tidy.HEAD + tidy.TAIL)
    mixed = tidy.varying_factors(good, [c for c in good.columns if c not in known], apart_from)
    if mixed:
        raise Undecidable(f"the data mix values of {', '.join(mixed)}")
    for factor, (low, high) in (source or {}).items():
        here = good[factor].astype(float)
        if not here.between(low, high).any():
            raise Undecidable(f"no point within the cores lies in the source's own range, {factor} "
                              f"{low:g} to {high:g}, only {shown(set(here))}")
        good = good[here.between(low, high)]
    return good


def curve(good: pd.DataFrame, metric: str, series: str, x: str = "workers") -> Curve:
    """For each x, the values by block of one scheduler."""
    part = good[good["scheduler_said"].eq(series) & good["metric"].eq(metric)]
    out = {float(v): stats.by_block(group, metric) for v, group in part.groupby(x)}
    if not out:
        raise Undecidable(f"no {metric} of {series}")
    settings = sorted(set(part["series"])) if "series" in part else []
    if len(settings) > 1:
        raise Undecidable(f"the data mix settings of {series}: {', '.join(settings)}")
    return out


def levels(good: pd.DataFrame, metric: str, factor: str, names: Sequence[str]) -> list[pd.Series]:
    """For each value of a factor that is a word, the metric's values by block."""
    part = good[good["metric"].eq(metric)]
    out = [stats.by_block(part[part[factor].eq(name)], metric) if factor in part else pd.Series()
           for name in names]
    missing = [name for name, values in zip(names, out) if values.empty]
    if missing:
        raise Undecidable(f"no {metric} with {factor} {', '.join(missing)}")
    return out


def at_each(good: pd.DataFrame, factor: str) -> list[tuple[float, pd.DataFrame]]:
    """The rows at each value of a factor that is a number, in order."""
    if factor not in good or good[factor].isna().all():
        raise Undecidable(f"no factor {factor} in the data")
    return [(float(str(x)), part) for x, part in good.groupby(factor)]


def within(points: Curve, low: float, high: float) -> Curve:
    return {x: v for x, v in points.items() if low <= x <= high}


def need(points: Curve, windows: Sequence[Sequence[float]], what: str = "workers") -> list[float]:
    """For each window the x-value nearest to its middle; Undecidable names all that lack one."""
    found, missing = [], []
    for low, high in (sorted(w) for w in windows):
        inside = within(points, low, high)
        if not inside:
            missing.append(f"{low:g}" if low == high else f"{low:g} to {high:g}")
        else:
            middle = (low + high) / 2
            found.append(min(inside, key=lambda x: (abs(x - middle), x)))
    if missing:
        missing.sort(key=lambda text: float(text.split()[0]))
        raise Undecidable(f"no point at {what} {', '.join(missing)} within the cores, "
                          f"only at {shown(points)}")
    return found


def shown(points: Iterable[float]) -> str:
    return ", ".join(f"{x:g}" for x in sorted(points)) or "none"


def highest(points: Curve) -> float:
    return max(points, key=lambda x: (float(points[x].median()), -x))


def lowest(points: Curve) -> float:
    return min(points, key=lambda x: (float(points[x].median()), x))


# -- deciding -------------------------------------------------------------------------------------

def figure(estimate: stats.Estimate) -> dict[str, Any]:
    """An estimate as data for verdicts.json; what is not a number is null."""
    def clean(value: float) -> float | None:
        return round(value, 6) if math.isfinite(value) else None
    return {"value": clean(estimate.value), "low": clean(estimate.low),
            "high": clean(estimate.high), "n": estimate.n, "flag": estimate.flag}


def interval_text(estimate: stats.Estimate) -> str:
    if not estimate.has_interval:
        return f"{stats.number(estimate.value)} without interval ({estimate.flag})"
    return (f"{stats.number(estimate.value)} [{stats.number(estimate.low)}, "
            f"{stats.number(estimate.high)}]")


def undecided(estimate: stats.Estimate, text: str, judged: dict[str, Any]) -> Verdict | None:
    """The verdict where no interval can decide (stats.FEW says why so many blocks are needed)."""
    if estimate.decides:
        return None
    few = estimate.n < stats.FEW and estimate.flag != stats.ZERO_DIVISOR
    return Verdict(OPEN, f"{TOO_FEW}: {text}" if few else f"{text}: no interval", judged)


def above(estimate: stats.Estimate, threshold: float, name: str) -> Verdict:
    """Holds where the whole interval is above the threshold, fails where it is wholly below."""
    text = f"{name} {interval_text(estimate)}, threshold {threshold:g}"
    judged = {name: figure(estimate), "threshold": threshold}
    neither = undecided(estimate, text, judged)
    if neither:
        return neither
    if estimate.low > threshold:
        return Verdict(HOLDS, text, judged)
    if estimate.high < threshold:
        return Verdict(FAILS, text, judged)
    return Verdict(OPEN, f"{text} lies in the interval: more blocks are needed", judged)


def below(estimate: stats.Estimate, threshold: float, name: str) -> Verdict:
    verdict = above(estimate, threshold, name)
    swap = {HOLDS: FAILS, FAILS: HOLDS, OPEN: OPEN}
    return Verdict(swap[verdict.verdict], verdict.why, verdict.judged_by)


def alike(estimate: stats.Estimate, factor: float, name: str) -> Verdict:
    """Holds where the interval of a ratio is inside [1/factor, factor], fails where it is wholly
    outside."""
    text = f"{name} {interval_text(estimate)}, within a factor of {factor:g}"
    judged = {name: figure(estimate), "factor": factor}
    neither = undecided(estimate, text, judged)
    if neither:
        return neither
    if estimate.low >= 1 / factor and estimate.high <= factor:
        return Verdict(HOLDS, text, judged)
    if estimate.low > factor or estimate.high < 1 / factor:
        return Verdict(FAILS, text.replace("within a factor", "outside a factor"), judged)
    return Verdict(OPEN, f"{text} or not: the interval holds the threshold", judged)


def all_of(parts: Sequence[Verdict]) -> Verdict:
    """Fails with the first part that fails; holds only where all do."""
    for wanted in (FAILS, OPEN):
        found = [p for p in parts if p.verdict == wanted]
        if found:
            why = "; ".join(p.why for p in found[:3]).replace(f"; {TOO_FEW}: ", "; ")
            more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
            return Verdict(wanted, why + more, _merged(parts))
    return Verdict(HOLDS, "; ".join(p.why for p in parts), _merged(parts))


def in_short(verdict: Verdict, text: str) -> Verdict:
    """Where a claim holds at many points, one sentence in place of one for each."""
    if verdict.verdict == HOLDS:
        verdict.why = text
    return verdict


def span(estimates: Sequence[stats.Estimate]) -> str:
    """The values of several estimates, from the lowest to the highest."""
    values = [e.value for e in estimates]
    low, high = (stats.number(v) for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _merged(parts: Sequence[Verdict]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in parts:
        out.update(part.judged_by)
    return out


def deeper(good: pd.DataFrame, first: str, second: str, x: float, by: str = "workers") -> str:
    """One level below a claim that does not hold: the counters that differ most at one point."""
    at = good[good[by].eq(x) & good["metric"].astype(str).str.startswith("counter_")]
    table = at.pivot_table(index="metric", columns="scheduler_said", values="value",
                           aggfunc="median")
    if first not in table or second not in table:
        return "no counters in the data to look deeper"
    apart = ((table[first] + 1) / (table[second] + 1)).map(lambda r: abs(math.log(r)))
    named = [f"{str(name)[len('counter_'):]} {stats.number(float(table[first][name]))} against "
             f"{stats.number(float(table[second][name]))}"
             for name in apart.sort_values(ascending=False).index[:3] if apart[name] > 0.2]
    text = ", ".join(named) or "no counter differs by more than a fifth"
    return f"counters of {first} against {second} at {by} {x:g}: {text}"


# -- rows and predicate files ---------------------------------------------------------------------

def rows() -> list[dict[str, Any]]:
    """The rows of experiments/rows.yaml."""
    data = yaml.safe_load(ROWS.read_text(encoding="utf-8"))
    return list(data)


def scale(row: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Where a size differs from the source's."""
    out: dict[str, dict[str, Any]] = {}
    for name, source in (row.get("scale") or {}).items():
        here = sorted({r["program_params"][name] for r in records
                       if name in (r.get("program_params") or {})})
        here = here or sorted({tidy.settings(r)[name] for r in records if name in tidy.settings(r)})
        if here and here != [source]:
            out[name] = {"source": source, "here": here if len(here) > 1 else here[0]}
    return out


def scale_text(sizes: dict[str, dict[str, Any]]) -> list[str]:
    """`packets 5000, the source has 50000`."""
    return [f"{name} {size['here']}, the source has {size['source']}"
            for name, size in sizes.items()]


def module(row_id: str) -> ModuleType:
    """experiments/claims/m7_1.py of the row M7.1."""
    path = FOLDER / (row_id.lower().replace(".", "_") + ".py")
    spec = importlib.util.spec_from_file_location(f"claims_{path.stem}", path)
    if not path.exists() or spec is None or spec.loader is None:
        raise FileNotFoundError(f"{path}: no predicates for {row_id}")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def judge(row_id: str, frame: pd.DataFrame) -> list[Judged]:
    """Each claim of a row, judged on what was measured or on what was simulated, never on both."""
    # peers name themselves there, and are measured; what failed says nothing of what it would have been
    kinds = sorted({"simulate" if r == "simulate" else "native"
                    for r in tidy.usable(frame)["runtime"].dropna()}) if "runtime" in frame else []
    if len(kinds) > 1:
        why = f"the data mix {' and '.join(kinds)} rows"
        return [Judged(statement, OPEN, why, {}) for statement in module(row_id).CLAIMS]
    return [judge_one(statement, predicate, frame)
            for statement, predicate in module(row_id).CLAIMS.items()]


def judge_one(statement: str, predicate: Predicate, frame: pd.DataFrame) -> Judged:
    """A predicate that finds too little says so as its verdict."""
    try:
        found = predicate(frame)
    except Undecidable as reason:
        found = Verdict(OPEN, str(reason))
    return Judged(statement, found.verdict, found.why, found.judged_by)
