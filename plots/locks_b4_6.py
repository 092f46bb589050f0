# SPDX-License-Identifier: MIT
"""Processor time of an iteration of the lock benchmark against cores (B, figure 4.6)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import curves
import factors
from experiments.models import contenders
from experiments.runner import tidy

NAME = "locks_b4_6"


def draw(path: Path, out: Path) -> None:
    good = contenders.named(tidy.usable(tidy.load(path)))
    if good.empty or "cpu" not in set(good["metric"]):
        raise style.NoData(f"no processor time of the lock benchmark in {path}")
    labels = [n for n in contenders.ALL if n in set(good["who"])]
    data = curves.Data(good.assign(label=good["who"]), pd.DataFrame(), tidy.load_provenance(path), "workers", labels)
    rows = curves.table(data, "cpu", "processor time")
    floor = float((good["critical"] + good["other"]).max())
    notes = [*curves.notes(data, rows), f"Dotted: the two loops of an iteration alone, {style.nanoseconds(floor)}."]
    count, _columns = style.legend_rows(labels, style.COLUMN)
    fig, (ax,) = style.page(1, style.COLUMN, notes, legend_rows=count)
    curves.panel(ax, rows, labels, "processor time of an iteration", "cores N (log): N² fibres, N/4 locks", "linear",
                 factors.wide(rows))
    factors.log_x(ax, rows, "1")
    ax.axhline(floor, color="#777777", lw=0.6, ls=":")
    style.legend(fig, curves.handles(labels), labels, style.COLUMN)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, notes)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
