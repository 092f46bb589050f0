# SPDX-License-Identifier: MIT
"""Threads that work rather than wait for a lock: points against both models (B, figures 6.2 and 6.3)."""
from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import style
import curves
import factors
from experiments.models import contenders, locks
from experiments.runner import stats

NAME = "locks_b6_3"
PROGRAM = "locks"
FACTORS = ["locks", "critical", "other"]
MODELS = {"probabilistic": "--", "mva": "-"}
TITLES = {"probabilistic": "probabilistic model", "mva": "mean value analysis"}
INK = "#000000"


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """A model has no dimension: what tells one picture from another is the locks, and `other` in critical sections."""
    frame = contenders.named(frame[frame["metric"].eq("throughput")]).dropna(subset=FACTORS)
    lasts = frame["critical"].map(style.nanoseconds)
    told = frame["critical"].nunique() > 1
    who = frame["series"].where(frame["runtime"].eq("model"), frame["who"])
    who = who + frame["runtime"].map(lambda r: ", simulated" if r == "simulate" else "")
    return frame.assign(label=who + (", " + lasts if told else ""),
                        ratio=(frame["other"] / frame["critical"]).round(6))


def points(data: curves.Data, part: pd.DataFrame, panel: str) -> Iterator[dict[str, object]]:
    """Throughput over that of one thread of the same series, paired by block."""
    for name, mine in part.groupby("label"):
        one = stats.by_block(mine[mine[data.x].eq(1)], "throughput")
        for x, here in mine.groupby(data.x):
            found = stats.ratio(stats.by_block(here, "throughput"), one)
            if found.n:
                yield {"panel": panel, "series": name, "x_name": data.x, "x": x, "metric": "utilisation", "unit": "1",
                       "median": found.value, "low": found.low, "high": found.high, "n": found.n, "flag": found.flag,
                       "oversubscribed": bool(here["oversubscribed"].any())}


def models(loop: locks.Loop, xs: range, panel: str, x_name: str) -> Iterator[dict[str, object]]:
    """Exact values: their intervals have no length, and nothing was run."""
    for n in xs:
        for name, rate in (("probabilistic", locks.throughput(loop, n)), ("mva", locks.mva(loop, n).throughput)):
            value = locks.utilisation(loop, rate)
            yield {"panel": panel, "series": name, "x_name": x_name, "x": n, "metric": "utilisation", "unit": "1",
                   "median": value, "low": value, "high": value, "n": 0, "flag": "", "oversubscribed": False}


def draw_panel(ax: Axes, said: pd.DataFrame, seen: pd.DataFrame, labels: list[str], limit: float, title: str) -> None:
    curves.panel(ax, seen, labels, "threads that work", "threads, each with a core", "linear")
    for name, dash in MODELS.items():
        mine = said[said["series"].eq(name)]
        ax.plot(mine["x"], mine["median"], color=INK, ls=dash, lw=0.9, zorder=1)
    top = max(said["median"].max(), seen["median"].max())
    if limit < 1.6 * top:                               # else it would press all that is drawn flat
        ax.axhline(limit, color="#777777", lw=0.6, ls=":")
        top = max(top, limit)
    ax.set_ylim(0, 1.08 * top)
    ax.set_title(title)


def read(path: Path) -> curves.Data:
    """With what was measured, where what is simulated lies inside it (`reproduce` puts it there)."""
    data = factors.read(path, PROGRAM, "workers", prepare, ())
    beside = path.parent.parent / path.name
    if path.parent.name != "sim" or not beside.exists():
        return data
    measured = factors.read(beside, PROGRAM, "workers", prepare, ())
    return replace(data, frame=pd.concat([measured.frame, data.frame], ignore_index=True),
                   labels=[*measured.labels, *data.labels])


def draw(path: Path, out: Path) -> None:
    data = read(path)
    parts, rows = [], []
    for (number, ratio), part in data.frame.groupby(["locks", "ratio"]):
        loop = locks.Loop(int(number), 1.0, float(ratio))
        title = f"{number:g} lock{'s' if number > 1 else ''}, held for {1 / (1 + ratio):.3g} of an iteration"
        seen = pd.DataFrame(points(data, part, title), columns=style.TABLE)
        if seen.empty:
            continue
        said = pd.DataFrame(models(loop, range(1, int(seen["x"].max()) + 1), title, data.x), columns=style.TABLE)
        parts.append((said, seen, locks.utilisation_limit(loop), title))
        rows += [seen, said]
    if not parts:
        raise style.NoData(f"no point of one thread in {path}, in which all others are drawn")
    drawn = pd.concat([seen for _said, seen, _limit, _title in parts], ignore_index=True)
    labels = [n for n in data.labels if n in set(drawn["series"])]
    notes = ["Throughput, in that of one thread of the same series.", *curves.notes(data, drawn),
             "Dotted: the limit for ever more threads. The models know no cost of locks, scheduling or caches."]
    names = [*labels, *TITLES.values()]
    width = style.COLUMN if len(parts) == 1 else style.PAGE
    count, _columns = style.legend_rows(names, width)
    fig, axes = style.page(len(parts), width, notes, legend_rows=count, rows=-(-len(parts) // 3), titles=True)
    for ax, (said, seen, limit, title) in zip(axes, parts):
        draw_panel(ax, said, seen, labels, limit, title)
    ink = [Line2D([], [], color=INK, ls=dash, lw=0.9) for dash in MODELS.values()]
    style.legend(fig, [*curves.handles(labels), *ink], names, width)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(pd.concat(rows, ignore_index=True), out, NAME, notes)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
