# SPDX-License-Identifier: MIT
"""Packet server, all six panels of M's figure 7.1 in its order, against workers."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import curves
import packet_latency

NAME = "packet_m7_1"
#: title, metrics, label, scale; a number in place of metrics is a percentile of the latency
PANELS: list[tuple[str, list[str] | float, str, str]] = [
    ("throughput", ["throughput"], "packets/s (log)", "log"),
    ("time", ["time"], "time to completion", "log"),
    ("latency, p50", 50.0, "spawn to end", "log"),
    ("latency, p99", 99.0, "spawn to end", "log"),
    ("latency, p99.99", 99.99, "spawn to end", "log"),
    ("spawner retries", ["retries"], "count", "symlog"),
]


def rows_of(data: curves.Data, title: str, what: list[str] | float) -> pd.DataFrame:
    try:
        if isinstance(what, float):
            return curves.pooled_table(data, "latency", what, title)
        return curves.table(data, curves.one_of(data, what), title)
    except style.NoData:
        return pd.DataFrame(columns=style.TABLE)


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    parts = [rows_of(data, title, what) for title, what, _label, _scale in PANELS]
    rows = pd.concat(parts, ignore_index=True)
    if rows.empty:
        raise style.NoData("none of the six panels has data")
    titles = [style.title_of(x) for x in data.labels]
    said = curves.notes(data, rows)
    said.insert(1, "Latencies are pooled over the repetitions and invocations of a cell; their "
                   "intervals resample invocations.")
    count, _columns = style.legend_rows(titles, style.PAGE)
    fig, axes = style.page(6, style.PAGE, said, legend_rows=count, rows=2, height=1.55,
                           titles=True)
    for ax, part, (title, what, label, scale) in zip(axes, parts, PANELS):
        if isinstance(what, float):
            packet_latency.draw_panel(ax, part, what, data, label)
        elif part.empty:
            ax.set_axis_off()
            ax.text(0.5, 0.5, "not in the data", ha="center", va="center",
                    transform=ax.transAxes)
        else:
            curves.panel(ax, part, data.labels, label, curves.X_NAMES.get(data.x, data.x), scale)
        ax.set_title(title)
        if ax in axes[:3]:
            ax.set_xlabel("")
    style.legend(fig, curves.handles(data.labels), titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
