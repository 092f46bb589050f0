# SPDX-License-Identifier: MIT
"""Hybrids of fifo and lifo on the throughput-tail plane (M, section 4.2.2): a mark a variant."""
from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import style
import curves

NAME = "hybrids_m4_2"
TAIL = "latency_p99_ns"
MOST = 4  # panels
#: a hybrid's marker is its policy's; how much of it is filled, its value's
POLICIES = {"stochastic": "^", "switch": "v", "reverse": "D"}
VALUES = {"stochastic": "p", "switch": "n", "reverse": "n"}
FILLS = ("full", "left", "none")


def variant(series: str) -> str:
    """`reverse n=8` of `hybrid:policy=reverse:n=8:private=0`."""
    knobs = dict(re.findall(r"(\w+)=(\w+)", series))
    if style.base(series) != "hybrid":
        return style.base(series)
    policy = knobs.get("policy", "stochastic")
    return f"{policy} {VALUES[policy]}={knobs.get(VALUES[policy], 'default')}"


def look(label: str, labels: list[str]) -> Line2D:
    """The mark of a variant, as the legend has it."""
    policy = label.split(" ")[0]
    if policy not in POLICIES:
        return Line2D([], [], color=style.colour(label), marker=style.marker(label), ls="none")
    same = [x for x in labels if x.split(" ")[0] == policy]
    return Line2D([], [], color=style.colour("hybrid"), marker=POLICIES[policy], ls="none",
                  fillstyle=FILLS[same.index(label) % len(FILLS)])


def panel(ax: Axes, rows: pd.DataFrame, labels: list[str]) -> None:
    for _index, row in rows.iterrows():
        mark = look(row["label"], labels)
        ax.errorbar([row["median"]], [row["median_tail"]],
                    xerr=[[max(0.0, row["median"] - row["low"])],
                          [max(0.0, row["high"] - row["median"])]],
                    yerr=[[max(0.0, row["median_tail"] - row["low_tail"])],
                          [max(0.0, row["high_tail"] - row["median_tail"])]],
                    color=mark.get_color(), marker=mark.get_marker(),
                    fillstyle=mark.get_fillstyle(), ls="none", elinewidth=0.7, capsize=1.5)
    ax.xaxis.set_major_formatter(style.FuncFormatter(style.count))
    ax.xaxis.set_major_locator(style.MaxNLocator(4))
    ax.yaxis.set_major_formatter(style.FuncFormatter(style.nanoseconds))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("packets/s")
    ax.set_ylabel("p99, spawn to end")
    over = bool(rows["oversubscribed"].any())
    ax.set_title(f"{rows['x'].iloc[0]:g} workers" + (", oversubscribed" if over else ""))


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "packet")
    parts = [curves.table(data, metric, metric) for metric in ("throughput", TAIL)]
    if any(part.empty for part in parts):
        raise style.NoData(f"throughput and {TAIL} are needed (more samples an invocation)")
    both = parts[0].merge(parts[1], on=["series", "x"], suffixes=("", "_tail"))
    both = both.fillna({"low": both["median"], "high": both["median"],
                        "low_tail": both["median_tail"], "high_tail": both["median_tail"]})
    both = both.assign(label=both["series"].map(variant))
    labels = list(dict.fromkeys(variant(x) for x in data.labels if x in set(both["series"])))
    xs = sorted(set(both["x"]))
    shown = xs[:MOST - 1] + xs[-1:] if len(xs) > MOST else xs
    rows = pd.concat(parts, ignore_index=True)
    said = [*curves.notes(data, rows), "Right and down is better. The marker is the policy's, how "
            "much of it is filled its value's."]
    if len(shown) < len(xs):
        said.append(f"Shown: workers {', '.join(f'{x:g}' for x in shown)}, of {len(xs)} numbers.")
    count, _columns = style.legend_rows(labels, style.PAGE)
    fig, axes = style.page(len(shown), style.PAGE, said, legend_rows=count, titles=True)
    for ax, x in zip(axes, shown):
        panel(ax, both[both["x"].eq(x)], labels)
    style.legend(fig, [look(x, labels) for x in labels], labels, style.PAGE)
    style.footer(fig, data.prov)
    style.save(fig, out, NAME)
    style.save_table(rows, out, NAME, said)


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
