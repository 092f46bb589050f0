# SPDX-License-Identifier: MIT
"""Calls that block: what the other fibres get done, and how long the calls take, by their length.

The lengths are few and reach from nothing to a thousand microseconds, so they stand side by side
rather than to scale.
"""
from __future__ import annotations

import sys
from pathlib import Path

import style
import curves

NAME = "blocking_ways"
PANELS = [("throughput", "steps of the others a second", "log"),
          ("time", "time until all calls have returned", "log")]


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "blocking", x="sleep")
    lengths = sorted(set(data.frame["sleep"].dropna()))
    at = {length: float(i) for i, length in enumerate(lengths)}
    parts = [curves.table(data, metric, metric) for metric, _label, _scale in PANELS]
    rows = style.pd.concat(parts, ignore_index=True)
    if rows.empty:
        raise style.NoData("neither throughput nor time in the data")
    labels = [x for x in data.labels if x in set(rows["series"])]
    titles = [style.title_of(x) for x in labels]
    said = curves.notes(data, rows)
    count, _columns = style.legend_rows(titles, style.PAGE)
    fig, axes = style.page(2, style.PAGE, said, legend_rows=count)
    for ax, part, (_metric, label, scale) in zip(axes, parts, PANELS):
        curves.panel(ax, part.assign(x=part["x"].map(at)), labels, label,
                     "time in the kernel of a call (µs)", scale)
        ax.set_xticks(list(at.values()), [f"{length:g}" for length in lengths])
    style.legend(fig, curves.handles(labels), titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
