# SPDX-License-Identifier: MIT
"""Packet server, the six panels of M's figure 7.1 in its order, against workers."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import curves
from experiments.runner import percentiles

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


def missing(title: str, what: list[str] | float) -> str:
    """Why a panel is left out."""
    if isinstance(what, float):
        return f"{title} (fewer than {percentiles.samples_needed(what):,} samples a cell)"
    return f"{title} (not in the data)"


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    drawn = [(panel, rows_of(data, panel[0], panel[1])) for panel in PANELS]
    absent = [missing(title, what) for (title, what, *_), part in drawn if part.empty]
    drawn = [(panel, part) for panel, part in drawn if not part.empty]
    if not drawn:
        raise style.NoData("none of the six panels has data")
    rows = pd.concat([part for _panel, part in drawn], ignore_index=True)
    titles = [style.title_of(x) for x in data.labels]
    said = curves.notes(data, rows)
    said.insert(1, "Latencies are pooled over the repetitions and invocations of a cell; their "
                   "intervals resample invocations.")
    if absent:
        said.append(f"Left out: {'; '.join(absent)}.")
    count, _columns = style.legend_rows(titles, style.PAGE)
    fig, axes = style.page(len(drawn), style.PAGE, said, legend_rows=count,
                           rows=min(2, len(drawn)), height=1.55, titles=True, left=0.68)
    for ax, ((title, _what, label, scale), part) in zip(axes, drawn):
        curves.panel(ax, part, data.labels, label, curves.X_NAMES.get(data.x, data.x), scale)
        ax.set_title(title)
    style.legend(fig, curves.handles(data.labels), titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
