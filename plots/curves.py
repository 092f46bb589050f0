# SPDX-License-Identifier: MIT
"""Curves of a metric against a factor, one per series, with intervals: shared by the figures."""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import style
from experiments.runner import stats, tidy

X_NAMES = {"workers": "workers (threads)"}


@dataclass
class Data:
    """Everything that a figure of one program needs."""

    frame: pd.DataFrame
    hist: pd.DataFrame
    prov: dict[str, Any]
    x: str
    labels: list[str] = field(default_factory=list)


def read(path: Path, program: str, x: str = "workers") -> Data:
    """The usable rows of a program and of its peers (packet, packet-pthread, …)."""
    frame, hist = tidy.load(path), tidy.load_hist(path)
    prov = tidy.load_provenance(path)
    good = tidy.usable(frame)
    if good.empty:
        raise style.NoData(f"{path} has no usable sample ({len(frame)} rows, "
                           f"statuses: {statuses(frame)})")
    mine = good["program"].astype(str).str.match(rf"{program}(-|$)")
    if not mine.any():
        known = ", ".join(sorted(set(good["program"].astype(str))))
        raise style.NoData(f"no row of the program {program} (there are: {known})")
    good = good[mine].copy()
    if x not in good or good[x].isna().all():
        raise style.NoData(f"no factor {x} in {path}")
    hist = hist[hist["invocation"].isin(good["invocation"])]
    factors = prov.get("factors") or []
    apart = tidy.varying_factors(good, factors, (x, "scheduler", "program", "workload", "variant",
                                                 "peer", "seed", "param_program"))
    good = label(good, apart)
    labels = sorted(set(good["label"]), key=style.rank)
    return Data(good, hist, prov, x, labels)


def statuses(frame: pd.DataFrame) -> str:
    counts = frame.drop_duplicates("invocation")["status"].value_counts() if len(frame) else {}
    return ", ".join(f"{k} {v}" for k, v in dict(counts).items()) or "none"


def label(frame: pd.DataFrame, apart: Sequence[str]) -> pd.DataFrame:
    """The series of each row, and the other factors that vary, in words."""
    text = frame["series"].astype(str)
    for factor in apart:
        words = frame[factor].map(lambda v, f=factor: "" if pd.isna(v) else f", {f} {v:g}"
                                  if isinstance(v, (int, float)) else f", {f} {v}")
        text = text + words
    return frame.assign(label=text)


def one_of(data: Data, names: Sequence[str]) -> str:
    """The first of several metric names that the data hold."""
    there = set(data.frame["metric"])
    for name in names:
        if name in there:
            return name
    raise style.NoData(f"no metric {' or '.join(names)} (there are: {', '.join(sorted(there))})")


def _row(data: Data, key: tuple[str, float], estimate: stats.Estimate, part: pd.DataFrame,
         metric: str, unit: str, panel: str) -> dict[str, Any]:
    return {"panel": panel, "series": key[0], "x_name": data.x, "x": key[1], "metric": metric,
            "unit": unit, "median": estimate.value, "low": estimate.low, "high": estimate.high,
            "n": estimate.n, "flag": estimate.flag,
            "oversubscribed": bool(part["oversubscribed"].any())}


def table(data: Data, metric: str, panel: str) -> pd.DataFrame:
    """Median over invocations (each the median of its repetitions), with its interval."""
    rows = []
    part = data.frame[data.frame["metric"].eq(metric)]
    for key, group in part.groupby(["label", data.x]):
        per = group.groupby("invocation")["value"].median().to_numpy()
        unit = str(group["unit"].iloc[0])
        rows.append(_row(data, key, stats.median(per), group, metric, unit, panel))
    return pd.DataFrame(rows, columns=style.TABLE)


def histograms(data: Data, metric: str) -> Iterator[tuple[Any, pd.DataFrame, pd.DataFrame]]:
    """For each series and x: the key, its invocations, and the buckets of all of them."""
    part = data.hist[data.hist["metric"].eq(metric)]
    if part.empty:
        raise style.NoData(f"no histogram of {metric} (hist.csv; was the run made with --hist?)")
    about = data.frame.drop_duplicates("invocation")
    for key, group in about.groupby(["label", data.x]):
        buckets = part[part["invocation"].isin(group["invocation"])]
        if len(buckets):
            yield key, group, buckets


def pooled_table(data: Data, metric: str, percent: float, panel: str) -> pd.DataFrame:
    """A percentile of the histograms pooled over the repetitions and invocations of a cell."""
    rows = []
    name = f"{metric} p{percent:g}"
    for key, about, hist in histograms(data, metric):
        estimate = stats.pooled(hist, percent)
        if estimate.n:
            rows.append(_row(data, key, estimate, about, name, str(hist["unit"].iloc[0]), panel))
    return pd.DataFrame(rows, columns=style.TABLE)


# -- drawing --------------------------------------------------------------------------------------

def _sideways(xs: pd.Series[float], index: int, of: int, log: bool) -> Callable[[Any], Any]:
    """A step for each series, so that equal points do not hide each other: they stand side by side
    around their value, by half a marker each, and closer where the values are close."""
    values = np.array(sorted(set(xs)), dtype=float)
    values = np.log(values) if log else values
    gap, span = (np.diff(values).min(), np.ptp(values)) if len(values) > 1 else (1.0, 1.0)
    step = min(0.024 * span, 0.7 * gap / of) * (index - (of - 1) / 2)
    return (lambda x: x * math.exp(step)) if log else lambda x: x + step


def dash(label_text: str, labels: Sequence[str]) -> Any:
    same = [x for x in labels if style.base(x) == style.base(label_text)]
    return style.DASHES[same.index(label_text) % len(style.DASHES)]


def shade(ax: Axes, rows: pd.DataFrame) -> None:
    """Grey where there are more workers than cores."""
    over, within = rows[rows["oversubscribed"]], rows[~rows["oversubscribed"]]
    if over.empty:
        return
    low, high = ax.get_xlim()
    edge = low if within.empty else (within["x"].max() + over["x"].min()) / 2
    ax.axvspan(edge, high, color="#EFEFEF", zorder=0, lw=0)
    ax.set_xlim(low, high)


def curve(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], log_x: bool = False) -> None:
    """Lines, intervals, and open markers where there are more workers than cores."""
    for index, name in enumerate(labels):
        part = rows[rows["series"].eq(name)].sort_values("x")
        if part.empty:
            continue
        ink = style.colour(name)
        x = _sideways(rows["x"], index, len(labels), log_x)(part["x"])
        ax.plot(x, part["median"], color=ink, ls=dash(name, labels), zorder=2)
        known = part["low"].notna() & part["high"].notna()
        middle, low, high = (part.loc[known, c] for c in ("median", "low", "high"))
        error = np.clip([middle - low, high - middle], 0, None)
        ax.errorbar(x[known], middle, yerr=error, fmt="none", ecolor=ink, elinewidth=0.9,
                    capsize=2.2, capthick=0.9, zorder=3)
        for over in (False, True):
            point = part["oversubscribed"].eq(over)
            ax.plot(x[point], part.loc[point, "median"], ls="none", marker=style.marker(name),
                    color=ink, markerfacecolor="white" if over else ink, markeredgewidth=0.9,
                    zorder=4, clip_on=False)


def handles(labels: Sequence[str]) -> list[Line2D]:
    return [Line2D([], [], color=style.colour(n), marker=style.marker(n), ls=dash(n, labels))
            for n in labels]


def y_range(rows: pd.DataFrame) -> tuple[float, float]:
    low = np.nanmin(rows[["median", "low"]].to_numpy(dtype=float))
    high = np.nanmax(rows[["median", "high"]].to_numpy(dtype=float))
    return float(low), float(high)


def panel(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], y_label: str, x_label: str,
          scale: str = "log", log_x: bool = False) -> None:
    """One panel: log (positive values), symlog (counts that may be zero) or linear from zero.
    `log_x`: the caller will make the other axis logarithmic."""
    curve(ax, rows, labels, log_x)
    style.x_ticks(ax, rows["x"].tolist())
    if rows["series"].nunique() > 1:                # a label for all that stand around it
        ax.tick_params(axis="x", length=0)
    low, high = y_range(rows)
    unit = str(rows["unit"].iloc[0])
    formatter = style.FuncFormatter(style.FORMATS.get(unit, style.count))
    if scale == "log" and low > 0:
        style.log_axis(ax.yaxis, low, high, unit)
    elif scale == "symlog" and high > 10:
        ax.set_yscale("symlog", linthresh=1.0, linscale=0.5)
        ticks = [0.0] + [10.0 ** e for e in range(0, 13) if 10.0 ** e <= high * 2]
        every = int(np.ceil((len(ticks) - 1) / 5))
        ax.yaxis.set_major_locator(style.FixedLocator(ticks[:1] + ticks[1::every]))
        ax.yaxis.set_minor_locator(style.NullLocator())
        ax.yaxis.set_major_formatter(formatter)
        ax.set_ylim(-0.35, high * 2)
    else:
        y_label = y_label.removesuffix(" (log)")    # what was asked for, but zeroes or small values
        ax.yaxis.set_major_formatter(formatter)
        ax.set_ylim(0 if low >= 0 else low * 1.1, high * 1.1 if high > 0 else 1.0)
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    shade(ax, rows)


# -- what the figure says of itself ---------------------------------------------------------------

def few_values(rows: pd.DataFrame, x: str, cores: Any) -> str | None:
    """Why there are fewer than three x-values."""
    xs = sorted(set(rows["x"]))
    if len(xs) >= 3:
        return None
    shown = ", ".join(f"{v:g}" for v in xs)
    if x == "workers" and isinstance(cores, (int, float)) and max(xs) >= min(cores, 2):
        why = (f"this machine has {cores:g} cores, and more workers than cores were not asked for"
               if max(xs) <= cores else "the matrix asks for no more")
    else:
        why = "the data hold no more"
    return f"Fewer than three x-values ({x} {shown}): {why}."


def peers(data: Data, drawn: set[str]) -> list[str]:
    """In what a peer is not the same: fewer guards, another stack size, other threads."""
    if "differs" not in data.frame:
        return []
    part = data.frame[data.frame["label"].isin(drawn) & data.frame["differs"].notna()]
    pairs = dict(zip(part["series"], part["differs"]))
    return [f"{style.title_of(name)}: {pairs[name]}." for name in sorted(pairs, key=style.rank)]


def few_blocks(rows: pd.DataFrame) -> list[str]:
    """One note where some interval is from too few invocations to be what it is called."""
    few = rows["n"].lt(stats.FEW) & rows["n"].ge(stats.FEWEST)
    return [f"{stats.FEW_FLAG}."] if few.any() else []


def notes(data: Data, rows: pd.DataFrame, pooled: bool = False) -> list[str]:
    n_low, n_high = int(rows["n"].min()), int(rows["n"].max())
    n_text = f"{n_low}" if n_low == n_high else f"{n_low} to {n_high}"
    plural = "" if n_high == 1 else "s"
    out = []
    if pooled:
        out.append(f"Pooled over the repetitions and the {n_text} invocation{plural} of a cell; "
                   "bars: 95 % bootstrap intervals that resample invocations, where wider than "
                   "the marker.")
    else:
        out.append(f"Median of {n_text} invocation{plural}, each the median of its repetitions; "
                   "bars: 95 % BCa bootstrap intervals, where wider than the marker.")
    flags = {flag for text in rows["flag"].fillna("") for flag in text.split(", ")}
    if n_high < stats.FEWEST:
        out = [out[0].split("; bars")[0] + "; no interval can be given for fewer than three."]
        flags = set()
    for flag, text in (("n<3", "Where there are fewer than three invocations no bar is drawn."),
                       ("percentile", "Some bars are percentile intervals (BCa undefined)."),
                       ("degenerate", "Where all invocations agree the bar has no length.")):
        if flag in flags:
            out.append(text)
    out += few_blocks(rows)
    if rows["series"].nunique() > 1:
        out.append("Series stand side by side around each value on the x axis.")
    cores = data.prov.get("cores")
    if rows["oversubscribed"].any():
        text = f" ({cores:g})" if isinstance(cores, (int, float)) else ""
        out.append(f"Open markers on grey: more workers than cores{text}, oversubscribed.")
    out += peers(data, set(rows["series"]))
    few = few_values(rows, data.x, cores)
    if few:
        out.append(few)
    return out


def single(path: Path, out: Path, name: str, metrics: Sequence[str], y_label: str,
           scale: str = "log", program: str = "packet") -> None:
    """A figure of one panel, one column wide."""
    data = read(path, program)
    metric = one_of(data, metrics)
    rows = table(data, metric, metric)
    labels = [x for x in data.labels if x in set(rows["series"])]
    said = notes(data, rows)
    titles = [style.title_of(x) for x in labels]
    count, _columns = style.legend_rows(titles, style.COLUMN)
    fig, (ax,) = style.page(1, style.COLUMN, said, legend_rows=count)
    panel(ax, rows, labels, y_label, X_NAMES.get(data.x, data.x), scale)
    style.legend(fig, handles(labels), titles, style.COLUMN)
    style.footer(fig, data.prov)
    style.save(fig, out, name)
    style.save_table(rows, out, name, said)
