# SPDX-License-Identifier: MIT
"""The throughput–tail plane: a panel a workload, a mark a variant of a scheduler. To the right is more, down is sooner.

Throughput is that of a closed loop (there is always more to do) and the tail that of an open one, at one rate for all, where a
workload was run both ways: a variant without a bound has no latency of its own in a closed loop. A workload that has no latency
at all has its variants one below the other, in the order of the legend."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import style
import curves
from experiments.runner import percentiles, tidy

NAME = "plane"
TAILS = (99.0, 90.0)        # the first that every workload has enough samples for
COLUMNS = 3
#: A variant of a module has the module's colour and mark, and a filling of its own.
FILLS: Sequence[Any] = ("full", "none", "left", "top", "right", "bottom")
#: What tells the workloads apart, and is no part of a variant's name.
OF_WORKLOAD = ("connections", "set", "work", "long", "long-every", "problem", "urgent", "rate", "workers", "program", "workload",
               "variant", "peer", "seed", "scheduler", "param_program")


def workload(row: "pd.Series[Any]") -> str:
    if row["program"] == "wavefront":
        return f"wavefront, {row.get('problem', 'put')}"
    if row["program"] == "mixed":
        return "mixed, two clusters" if row.get("urgent", 0) > 0 else "mixed"
    if row["program"] != "packet":
        return str(row["program"])
    if row.get("connections", 0) > 0:
        return "packet, working sets"
    return "packet, bimodal" if row.get("long", 0) > 0 else "packet"


def read(path: Path) -> curves.Data:
    good = tidy.usable(tidy.load(path))
    much = good[good["metric"].eq("throughput")]["program"]
    good = good[good["program"].isin(set(much))].copy()
    if good.empty:
        raise style.NoData(f"no usable row with a throughput in {path}")
    prov, hist = tidy.load_provenance(path), tidy.load_hist(path)
    good = curves.label(good, tidy.varying_factors(good, prov.get("factors") or [], OF_WORKLOAD))
    good["panel"] = good.apply(workload, axis=1)
    good["open"] = good["rate"].notna() if "rate" in good else False
    labels = sorted(set(good["label"]), key=style.rank)
    return curves.Data(good, hist[hist["invocation"].isin(good["invocation"])], prov, "workers", labels)


def side(data: curves.Data, name: str, opened: bool) -> curves.Data:
    """A workload's rows of one loop, or all where there is but one."""
    rows = data.frame[data.frame["panel"].eq(name)]
    rows = rows[rows["open"].eq(opened)] if rows["open"].nunique() > 1 else rows
    return curves.Data(rows, data.hist, data.prov, data.x, data.labels)


def table(data: curves.Data, name: str, percent: float) -> pd.DataFrame:
    much = curves.table(side(data, name, False), "throughput", name)
    late = much
    if timed(data, name):
        late = curves.pooled_table(side(data, name, True), "latency", percent, name)
    both = late.merge(much[["series", "median", "low", "high"]], on="series", suffixes=("", "_of_x"))
    return both.assign(x_name="throughput", x=both["median_of_x"]).rename(
        columns={"low_of_x": "x_low", "high_of_x": "x_high"})


def timed(data: curves.Data, name: str) -> bool:
    mine = data.frame[data.frame["panel"].eq(name)]["invocation"]
    return bool((data.hist["metric"].eq("latency") & data.hist["invocation"].isin(mine)).any())


def tables(data: curves.Data) -> list[pd.DataFrame]:
    names = sorted(set(data.frame["panel"]), key=lambda n: (not timed(data, n), not n.startswith("packet"), n))
    if not any(timed(data, n) for n in names):
        raise style.NoData("no histogram of latency (hist.csv; was the run made with --hist?)")
    for percent in TAILS:
        parts = [table(data, name, percent) for name in names]
        if all(len(p) for p in parts):
            return parts
    raise style.NoData(f"fewer than {percentiles.samples_needed(TAILS[-1]):,} latency samples in some workload")


def mark(name: str, labels: Sequence[str]) -> dict[str, Any]:
    same = [x for x in labels if style.base(x) == style.base(name)]
    number = same.index(name)
    return {"color": style.colour(name), "marker": style.marker(name), "ls": "none",
            "fillstyle": FILLS[number % len(FILLS)], "markerfacecoloralt": "white",
            "markersize": 5.0 + 2.2 * (number // len(FILLS))}


def draw_panel(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], first: bool) -> None:
    plane = not rows["metric"].eq("throughput").any()
    for row in rows.itertuples():
        ink, y = style.colour(row.series), row.median if plane else -labels.index(row.series)
        if plane and row.low == row.low and row.high == row.high:
            ax.plot([row.x, row.x], [row.low, row.high], color=ink, lw=0.7, zorder=2)
        if row.x_low == row.x_low and row.x_high == row.x_high:
            ax.plot([row.x_low, row.x_high], [y, y], color=ink, lw=0.7, zorder=2)
        ax.plot([row.x], [y], zorder=3, clip_on=False, **mark(row.series, labels))
    style.log_axis(ax.xaxis, float(rows[["x", "x_low"]].min().min()), float(rows[["x", "x_high"]].max().max()), "1/s")
    if plane:
        style.log_axis(ax.yaxis, float(rows[["median", "low"]].min().min()), float(rows[["median", "high"]].max().max()), "ns")
    else:
        ax.set_yticks([])
    ax.set_title(str(rows["panel"].iloc[0]))
    ax.set_xlabel("throughput (1/s)")
    if first and plane:
        ax.set_ylabel("latency, " + str(rows["metric"].iloc[0]).split()[-1], labelpad=0)


def draw(path: Path, out: Path) -> None:
    data = read(path)
    parts = tables(data)
    rows = pd.concat(parts, ignore_index=True)
    labels = [x for x in data.labels if x in set(rows["series"])]
    titles = [style.title_of(x) for x in labels]
    said = [*curves.few_blocks(rows),
            "Throughput in a closed loop, latency in an open one at the same rate for all, where both were run."]
    if any(len(part) < len(labels) for part in parts):
        said.append("Who has no mark in a panel fell behind the rate there, failed, or was not run.")
    count, _columns = style.legend_rows(titles, style.PAGE)
    lines = -(-len(parts) // COLUMNS)
    fig, axes = style.page(len(parts), style.PAGE, said, legend_rows=count, rows=lines, height=2.2, titles=True)
    for index, (ax, part) in enumerate(zip(axes, parts)):
        draw_panel(ax, part, labels, index % -(-len(parts) // lines) == 0)
    style.legend(fig, [Line2D([], [], **mark(n, labels)) for n in labels], titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said, ("x_low", "x_high"))


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
