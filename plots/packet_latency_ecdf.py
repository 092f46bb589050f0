# SPDX-License-Identifier: MIT
"""Packet server: distribution of the latency (ECDF from histogram buckets), a panel a worker count.

The vertical axis is stretched towards 100 % (each gridline a tenth of what was left), so that the
tail can be read.
"""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import style
import curves
from experiments.runner import percentiles, stats

NAME = "packet_latency_ecdf"
RESAMPLES = 400
POINTS = 240
NINES = {1.0: "0 %", 0.5: "50 %", 0.1: "90 %", 0.01: "99 %", 1e-3: "99.9 %", 1e-4: "99.99 %",
         1e-5: "99.999 %", 1e-6: "99.9999 %"}


def distribution(counts: np.ndarray, highs: np.ndarray) -> pd.DataFrame:
    """Share of samples above each bucket, with a pointwise band over resampled invocations."""
    cumulative = np.cumsum(counts, axis=1)
    n, total = counts.shape[0], cumulative[:, -1].sum()
    left = 1.0 - cumulative.sum(axis=0) / total
    floor = 10.0 / total                      # fewer than ten samples beyond: not drawn
    keep = np.flatnonzero(left >= floor)
    if len(keep) > POINTS:                    # evenly spaced in what can be seen
        wanted = np.geomspace(1.0, max(left[keep[-1]], floor), POINTS)
        picks = np.searchsorted(-left[keep], -wanted).clip(0, len(keep) - 1)
        keep = keep[np.unique(picks)]
    table = pd.DataFrame({"x": highs[keep], "median": left[keep], "low": np.nan, "high": np.nan})
    if n >= stats.FEWEST:
        rng = np.random.default_rng(stats.SEED)
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).astype(float)
        part = weights @ cumulative[:, keep] / (weights @ cumulative[:, -1])[:, None]
        table["low"], table["high"] = np.quantile(1.0 - part, [0.025, 0.975], axis=0)
    return table.assign(n=n)


def choose(data: curves.Data) -> list[float]:
    """At most three worker counts: the least, a middle one, the greatest; native ones first."""
    part = data.frame
    native = sorted(set(part.loc[~part["oversubscribed"], data.x].dropna()))
    every = sorted(set(part[data.x].dropna()))
    xs = native if len(native) >= 2 else every
    if len(xs) <= 3:
        return xs
    return [xs[0], xs[len(xs) // 2], xs[-1]]


def draw_panel(ax: Axes, rows: pd.DataFrame, labels: list[str], floor: float,
               limits: tuple[float, float]) -> None:
    for name in labels:
        part = rows[rows["series"].eq(name)]
        if part.empty:
            continue
        ink = style.colour(name)
        ax.fill_between(part["x"], part["low"].clip(lower=floor / 2),
                        part["high"].clip(lower=floor / 2), color=ink, alpha=0.22, lw=0,
                        step="post", zorder=2)
        ax.plot(part["x"], part["median"], color=ink, ls=curves.dash(name, labels),
                drawstyle="steps-post", zorder=3)
        logs = np.log(part["median"].to_numpy())
        apart = {y: np.abs(logs - np.log(y)) for y in NINES if y < 1.0}
        marks = [int(a.argmin()) for a in apart.values() if a.min() < 0.3]
        ax.plot(part["x"].iloc[marks], part["median"].iloc[marks], ls="none", color=ink,
                marker=style.marker(name), zorder=4)
    ax.set_yscale("log")
    ax.set_ylim(1.0, floor * 0.8)
    ticks = [y for y in NINES if y >= floor * 0.8]
    ax.yaxis.set_major_locator(style.FixedLocator(ticks))
    ax.yaxis.set_minor_locator(style.NullLocator())
    ax.yaxis.set_major_formatter(style.FuncFormatter(
        lambda v, _p: NINES[min(NINES, key=lambda y: abs(y - v))]))
    style.log_axis(ax.xaxis, limits[0], limits[1], str(rows["unit"].iloc[0]), pad=1.3)
    ax.set_xlabel("latency, spawn to end (log)")


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    xs, rows = choose(data), []
    for (name, x), group, hist in curves.histograms(data, "latency"):
        if x in xs:
            part = distribution(*percentiles.count_matrix(hist))
            rows.append(part.assign(panel=f"{data.x} {x:g}", series=name, x_name="latency",
                                    metric="share of samples above x", unit=hist["unit"].iloc[0],
                                    oversubscribed=bool(group["oversubscribed"].any()),
                                    flag=stats.flag_of(int(part["n"].iloc[0]))))
    table = pd.concat(rows, ignore_index=True)
    labels = [x for x in data.labels if x in set(table["series"])]
    said = ["ECDF of the histograms pooled over the repetitions and invocations of a cell, down "
            "to the last ten samples; band: pointwise 95 % bootstrap interval that resamples "
            f"invocations (at least {int(table['n'].min())} a curve); the vertical axis is "
            "stretched towards 100 %."]
    said.append("Table: 'median' is the share of samples above x, 'low' and 'high' its interval.")
    if (table["flag"] == "n<3").any():
        said.append("Where there are fewer than three invocations no band is drawn.")
    said += curves.few_blocks(table)
    left_out = sorted(set(data.frame[data.x].dropna()) - set(xs))
    if left_out:
        said.append(f"Not drawn: {data.x} " + ", ".join(f"{v:g}" for v in left_out) + ".")
    said += curves.peers(data, set(labels))
    titles = [style.title_of(x) for x in labels]
    width = style.PAGE if len(xs) > 1 else style.COLUMN
    count, _columns = style.legend_rows(titles, width)
    fig, axes = style.page(len(xs), width, said, legend_rows=count, titles=True, height=2.0,
                           left=0.75)
    floor = float(table["median"].min())
    limits = (float(table.loc[table["median"] < 0.995, "x"].min()), float(table["x"].max()))
    for ax, x in zip(axes, xs):
        part = table[table["panel"].eq(f"{data.x} {x:g}")]
        draw_panel(ax, part, labels, floor, limits)
        over = ", oversubscribed" if part["oversubscribed"].any() else ""
        ax.set_title(f"{data.x} {x:g}{over}")
    axes[0].set_ylabel("samples at or below")
    style.legend(fig, curves.handles(labels), titles, width)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(table, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
