# SPDX-License-Identifier: MIT
"""Packet server: throughput, attempts to steal, the share that hits, stalls an instruction, against
workers (M, figures 7.2 and 7.3)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import curves

NAME = "packet_account"
#: title, metric, label, scale
PANELS = [("throughput", "throughput", "packets/s (log)", "log"),
          ("attempts to steal", "counter_steal_try", "in a run (log)", "log"),
          ("of them hit", "steal_share", "share (log)", "log"),
          ("stalls", "sim_stalls_per_instruction", "cycles an instruction (log)", "log")]


def with_share(frame: pd.DataFrame) -> pd.DataFrame:
    """The share of attempts that hit, as a metric of each invocation."""
    tries, hits = (frame[frame["metric"].eq(f"counter_steal_{x}")].set_index("invocation")
                   for x in ("try", "hit"))
    share = (hits["value"] / tries["value"].where(tries["value"].gt(0))).dropna()
    rows = hits.loc[share.index].assign(metric="steal_share", value=share).reset_index()
    return pd.concat([frame, rows], ignore_index=True)


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    data.frame = with_share(data.frame)
    parts = [(panel, curves.table(data, panel[1], panel[0])) for panel in PANELS]
    parts = [(panel, part) for panel, part in parts if not part.empty]
    if not parts:
        raise style.NoData("none of the four panels has data")
    rows = pd.concat([part for _panel, part in parts], ignore_index=True)
    titles = [style.title_of(x) for x in data.labels]
    said = curves.notes(data, rows)
    said.append("A stall is a cycle that a core waits for a line, in the simulator's account.")
    count, _columns = style.legend_rows(titles, style.PAGE)
    fig, axes = style.page(len(parts), style.PAGE, said, legend_rows=count,
                           rows=min(2, len(parts)), height=1.55, titles=True, left=0.68)
    for ax, ((title, _metric, label, scale), part) in zip(axes, parts):
        curves.panel(ax, part, data.labels, label, curves.X_NAMES.get(data.x, data.x), scale)
        ax.set_title(title)
    style.legend(fig, curves.handles(data.labels), titles, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
