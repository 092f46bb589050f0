# SPDX-License-Identifier: MIT
"""Ways to yield: which livelock, and what those cost that do not (M, section 4.4.4)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

import style
import curves
import factors

NAME = "yield_m4_4"
WAYS = ("top", "pop", "swap", "tail", "global", "soft", "lifo")
COST = [factors.Panel("one worker", "throughput", "tasks/s (log)", "log"),
        factors.Panel("one worker, nobody waits", "yield", "a yield (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    way = frame["series"].str.extract(r"yield=(\w+)")[0].fillna(frame["scheduler_said"])
    plain = frame["hard"].isna() if "hard" in frame else True
    return frame.assign(label=way.where(plain), hogs=frame["hogs"], blocked=frame["blocked"])


def states(data: curves.Data) -> pd.DataFrame:
    """Share of the invocations that livelock, by way and condition."""
    part = data.frame[data.frame["metric"].eq("livelock")]
    each = part.groupby(["label", "hogs", "blocked", "invocation"])["value"].median().reset_index()
    out = each.groupby(["label", "hogs", "blocked"])["value"].agg(["mean", "size"]).reset_index()
    return out.sort_values(["hogs", "blocked"])


def grid(ax: Axes, found: pd.DataFrame, labels: list[str]) -> None:
    """A filled square livelocks, an open circle does not, a half-filled one does now and then."""
    columns = list(dict.fromkeys(zip(found["hogs"], found["blocked"])))
    for _index, row in found.iterrows():
        x = columns.index((row["hogs"], row["blocked"]))
        y = len(labels) - 1 - labels.index(row["label"])
        ink = style.colour(row["label"])
        shape = {0.0: ("o", "none"), 1.0: ("s", "full")}.get(row["mean"], ("D", "bottom"))
        ax.plot([x], [y], marker=shape[0], fillstyle=shape[1], color=ink, ls="none", markersize=5)
    ax.set_xticks(range(len(columns)), [f"{int(k)}" for _hogs, k in columns])
    ax.set_yticks(range(len(labels)), labels[::-1])
    ax.set_xlim(-0.6, len(columns) - 0.4)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    alone = sum(hogs == 0 for hogs, _k in columns)
    if 0 < alone < len(columns):
        ax.axvline(alone - 0.5, color="#777777", lw=0.6)
    ax.set_xlabel("fibres that wait; right of the line: beside a hog")
    ax.set_title("■ livelocks  ○ does not")


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "yield", "blocked", prepare, WAYS)
    found = states(data)
    alone = curves.Data(data.frame[data.frame["hogs"].eq(0)], data.hist, data.prov, data.x,
                        data.labels)
    parts = factors.panels(alone, COST)
    rows = pd.concat(parts, ignore_index=True)
    said = [*curves.notes(data, rows), "A livelock: every worker has passed so many scheduling "
            "points in vain; it has no throughput. Beside a hog: two workers, one computes on and "
            "has on its queue what must run. lifo is the module as shipped."]
    count, _columns = style.legend_rows(data.labels, style.PAGE)
    fig, axes = style.page(3, style.PAGE, said, legend_rows=count, titles=True)
    grid(axes[0], found, data.labels)
    for ax, part, panel in zip(axes[1:], parts, COST):
        factors.draw_panel(ax, part, alone, panel, "fibres that wait (log)", "1")
    style.legend(fig, curves.handles(data.labels), data.labels, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    drawn = found.assign(panel="livelock", x=found["blocked"], x_name="blocked", metric="livelock",
                         unit="1", median=found["mean"], n=found["size"], oversubscribed=False,
                         series=found["label"].str.cat(found["hogs"].map(
                             lambda h: ", beside a hog" if h else "")))
    style.save_table(pd.concat([drawn[[c for c in style.TABLE if c in drawn]], rows],
                               ignore_index=True), out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
