# SPDX-License-Identifier: MIT
"""Panels of metrics against a factor, one line for each value of another: shared by the figures."""
from __future__ import annotations

from pathlib import Path
from typing import Callable, NamedTuple, Sequence

import pandas as pd
from matplotlib.axes import Axes

import style
import curves
from experiments.runner import tidy


class Panel(NamedTuple):
    """One metric; `scale` is that of its axis, as curves.panel has it."""

    title: str
    metric: str
    label: str
    scale: str


def read(path: Path, program: str, x: str, prepare: Callable[[pd.DataFrame], pd.DataFrame],
         order: Sequence[str]) -> curves.Data:
    """The usable rows of a program; `prepare` gives them the columns `label` and x."""
    good = tidy.usable(tidy.load(path))
    good = good[good["program"].eq(program)]
    if good.empty:
        raise style.NoData(f"no usable row of {program} in {path}")
    try:
        good = prepare(good.copy())
    except KeyError as missing:
        raise style.NoData(f"no factor {missing.args[0]} in {path}") from missing
    good = good[good["label"].notna() & good[x].notna()]
    if good.empty:
        raise style.NoData(f"no row with {x} in {path}")
    there = set(good["label"])
    labels = [n for n in order if n in there] + sorted(there - set(order))
    return curves.Data(good, pd.DataFrame(), tidy.load_provenance(path), x, labels)


def panels(data: curves.Data, wanted: Sequence[Panel]) -> list[pd.DataFrame]:
    there = set(data.frame["metric"])
    parts = [curves.table(data, p.metric, p.title) if p.metric in there
             else pd.DataFrame(columns=style.TABLE) for p in wanted]
    if all(p.empty for p in parts):
        raise style.NoData(f"none of {', '.join(p.metric for p in wanted)} is in the data")
    return parts


def wide(rows: pd.DataFrame) -> bool:
    """Does x have to be logarithmic?"""
    return bool(rows["x"].min() > 0 and rows["x"].max() > 10 * rows["x"].min())


def log_x(ax: Axes, rows: pd.DataFrame, unit: str) -> None:
    if wide(rows):
        style.log_axis(ax.xaxis, rows["x"].min(), rows["x"].max(), unit, 1.4)
        xs = sorted(set(rows["x"]))
        if len(xs) <= 5:  # those that were measured
            ax.xaxis.set_major_locator(style.FixedLocator(xs))


def draw_panel(ax: Axes, rows: pd.DataFrame, data: curves.Data, panel: Panel, x_label: str,
               x_unit: str) -> None:
    if rows.empty:
        ax.set_axis_off()
        ax.text(0.5, 0.5, "not in the data", ha="center", va="center", transform=ax.transAxes)
        return
    x_label = x_label if wide(rows) else x_label.removesuffix(" (log)")
    curves.panel(ax, rows, data.labels, panel.label, x_label, panel.scale,
                 wide(rows))
    log_x(ax, rows, x_unit)
    ax.set_title(panel.title)


def draw(data: curves.Data, out: Path, name: str, wanted: Sequence[Panel], x_label: str,
         x_unit: str = "1", more: Sequence[str] = ()) -> None:
    """A page of panels in one row."""
    parts = panels(data, wanted)
    rows = pd.concat([p for p in parts if not p.empty], ignore_index=True)
    said = [*curves.notes(data, rows), *more]
    count, _columns = style.legend_rows(data.labels, style.PAGE)
    fig, axes = style.page(len(wanted), style.PAGE, said, legend_rows=count, titles=True)
    for ax, part, panel in zip(axes, parts, wanted):
        draw_panel(ax, part, data, panel, x_label, x_unit)
    style.legend(fig, curves.handles(data.labels), data.labels, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, name)
    style.save_table(rows, out, name, said)
