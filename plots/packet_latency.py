# SPDX-License-Identifier: MIT
"""Packet server: latency percentiles against workers (M, figure 7.1, panels three to five)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

import style
import curves
from experiments.runner import percentiles

NAME = "packet_latency"
PERCENTS = (50.0, 99.0, 99.99)


def tables(data: curves.Data) -> list[pd.DataFrame]:
    return [curves.pooled_table(data, "latency", p, f"p{p:g}") for p in PERCENTS]


def draw_panel(ax: Axes, rows: pd.DataFrame, percent: float, data: curves.Data,
               y_label: str) -> None:
    """A percentile against workers, or what it would take to give one."""
    if rows.empty:
        ax.set_axis_off()
        ax.text(0.5, 0.5, f"p{percent:g} is not given:\nfewer than "
                f"{percentiles.samples_needed(percent):,} samples a cell", ha="center", va="center",
                fontsize=7, transform=ax.transAxes)
        return
    curves.panel(ax, rows, data.labels, y_label, curves.X_NAMES.get(data.x, data.x))


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    parts = tables(data)
    rows = pd.concat(parts, ignore_index=True)
    if rows.empty:
        raise style.NoData("too few latency samples for any percentile")
    labels = [x for x in data.labels if x in set(rows["series"])]
    titles = [style.title_of(x) for x in labels]
    said = curves.notes(data, rows, pooled=True)
    count, _columns = style.legend_rows(titles, style.PAGE)
    fig, axes = style.page(3, style.PAGE, said, legend_rows=count, titles=True)
    for ax, part, percent in zip(axes, parts, PERCENTS):
        draw_panel(ax, part, percent, data, "latency, spawn to end" if ax is axes[0] else "")
        ax.set_title(f"p{percent:g}")
    style.legend(fig, curves.handles(labels), titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
