# SPDX-License-Identifier: MIT
"""The lock benchmark by the length of its loops: throughput in that of one alone (B, figure 4.5)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import curves
import factors
from experiments.models import contenders
from experiments.runner import stats, tidy

NAME = "locks_b4_5"


def points(frame: pd.DataFrame) -> pd.DataFrame:
    """Paired by block; one alone is not drawn, since it is 1."""
    rows = []
    alone = frame["fibres"].eq(1) & frame["workers"].eq(1)
    for (who, loop), part in frame.groupby(["who", "critical"]):
        one = stats.by_block(part[alone[part.index]], "throughput")
        for n, here in part[~alone[part.index]].groupby("workers"):
            found = stats.ratio(stats.by_block(here, "throughput"), one)
            if found.n:
                rows.append({"panel": f"{n:g} workers", "series": who, "x_name": "loops", "x": loop, "metric": "throughput over one",
                             "unit": "1", "median": found.value, "low": found.low, "high": found.high, "n": found.n,
                             "flag": found.flag, "oversubscribed": bool(here["oversubscribed"].any())})
    return pd.DataFrame(rows, columns=style.TABLE)


def draw(path: Path, out: Path) -> None:
    good = contenders.named(tidy.usable(tidy.load(path)))
    good = good[good["metric"].eq("throughput")]
    if good.empty or "critical" not in good:
        raise style.NoData(f"no usable row of the lock benchmark in {path}")
    rows = points(good)
    if rows.empty:
        raise style.NoData(f"no point of one alone in {path}, in which all others are drawn")
    labels = [n for n in contenders.ALL if n in set(rows["series"])]
    data = curves.Data(good.assign(label=good["who"]), pd.DataFrame(), tidy.load_provenance(path), "loops", labels)
    panels = list(dict.fromkeys(rows["panel"]))
    notes = ["Both loops, the one under a lock and the one outside, are equally long.", *curves.notes(data, rows)]
    width = style.COLUMN if len(panels) == 1 else style.PAGE
    count, _columns = style.legend_rows(labels, width)
    fig, axes = style.page(len(panels), width, notes, legend_rows=count, titles=True)
    for ax, name in zip(axes, panels):
        part = rows[rows["panel"].eq(name)]
        curves.panel(ax, part, labels, "throughput in that of one alone", "length of each loop (log)", "linear",
                     factors.wide(part))
        factors.log_x(ax, part, "ns")
        ax.set_title(name)
    style.legend(fig, curves.handles(labels), labels, width)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, notes)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
