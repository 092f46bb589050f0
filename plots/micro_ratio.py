# SPDX-License-Identifier: MIT
"""Micro-benchmarks: ns an operation by runtime, drawn by gnuplot (micro.gp).

The table also gives each runtime's ratio to pthreads, paired by block, with its interval.
"""
from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import style
import curves
from experiments.runner import stats

NAME = "micro_ratio"
BASELINE = "pthread"
PHYSICAL = "phys_"
MACHINE = "this machine"
GREEN = "#009E73"


def operations(data: pd.DataFrame) -> list[str]:
    """Metrics in ns an operation, in the order in which the program printed them."""
    timed = data[data["unit"].eq("ns") & ~data["rep"].isin(["pooled", "total"])]
    return list(dict.fromkeys(timed["metric"]))


def with_neighbours(frame: pd.DataFrame) -> pd.DataFrame:
    """What every runtime pays for, such as an atomic, is this machine's: one series of its own."""
    physical = frame["metric"].str.startswith(PHYSICAL)
    return frame.assign(label=frame["label"].mask(physical, MACHINE))


def panels_of(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Runtimes, a panel for each number of workers; then the machine's own operations."""
    physical = frame["metric"].str.startswith(PHYSICAL)
    counts = sorted(set(frame["workers"].dropna())) if "workers" in frame else []
    panels = [(f"{int(n)} worker{'s' if n > 1 else ''}", frame[~physical & frame["workers"].eq(n)])
              for n in counts]
    if len(panels) < 2:
        panels = [("runtimes", frame[~physical])]
    neighbours = frame[physical]
    if counts:
        neighbours = neighbours[neighbours["workers"].eq(counts[0])]
    return [(n, f) for n, f in [*panels, ("physical neighbours", neighbours)] if len(f)]


def table_of(frame: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    tables = [panel_table(panel, part, labels) for panel, part in panels_of(frame)]
    return pd.concat(tables) if tables else pd.DataFrame()


def panel_table(panel: str, frame: pd.DataFrame, labels: list[str]) -> pd.DataFrame:
    rows = []
    for operation in operations(frame):
        part = frame[frame["metric"].eq(operation)]
        divisor = stats.by_block(part[part["label"].eq(BASELINE)], operation)
        for name in labels:
            mine = part[part["label"].eq(name)]
            if mine.empty:
                continue
            per = mine.groupby("invocation")["value"].median().to_numpy()
            estimate = stats.median(per)
            over = stats.ratio(stats.by_block(mine, operation), divisor)
            rows.append({"panel": panel, "series": name, "x_name": "operation", "x": operation,
                         "metric": operation, "unit": "ns", "median": estimate.value,
                         "low": estimate.low, "high": estimate.high, "n": estimate.n,
                         "flag": estimate.flag,
                         "oversubscribed": bool(mine["oversubscribed"].any()),
                         "ratio_to_pthread": over.value, "ratio_low": over.low,
                         "ratio_high": over.high,
                         "ratio_text": stats.ratio_text(over)
                         if over.n and name != BASELINE else ""})
    return pd.DataFrame(rows)


def wrap_name(operation: str, letters: int) -> str:
    """Words of an operation on lines of at most `letters`, for gnuplot's enhanced text."""
    lines: list[str] = []
    for word in operation.removeprefix(PHYSICAL).split("_"):
        if lines and len(lines[-1]) + 1 + len(word) <= letters:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "\\n".join(lines)


def write_data(path: Path, table: pd.DataFrame, labels: list[str], letters: int) -> None:
    """gnuplot's table: one line an operation, value, low, high for each runtime."""
    with path.open("w", encoding="utf-8") as file:
        for operation in dict.fromkeys(table["x"]):
            cells = [f'"{wrap_name(str(operation), letters)}"']
            for name in labels:
                at = table[table["x"].eq(operation) & table["series"].eq(name)]
                for column in ("median", "low", "high"):
                    value = float(at[column].iloc[0]) if len(at) else math.nan
                    if len(at) and not math.isfinite(value):  # no interval: a bar without one
                        value = float(at["median"].iloc[0])
                    cells.append(f"{value * 1e-9:.6g}" if math.isfinite(value) else "NaN")
            file.write(" ".join(cells) + "\n")


def panel_of(table: pd.DataFrame, labels: list[str], scratch: Path, prefix: str) -> dict[str, Any]:
    """Writes the data of one panel; returns what micro.gp has to know of it."""
    letters = letters_for(table)
    write_data(scratch / f"{prefix}.dat", table, labels, letters)
    inks: list[str] = []
    for name in labels:
        ink = GREEN if name == MACHINE else style.colour(name)
        while ink in inks:  # two settings of one scheduler: the same hue, paler
            ink = paler(ink)
        inks.append(ink)
    titles = [style.title_of(x) for x in labels]
    columns = min(len(titles), int(6.4 / (0.35 + 0.062 * max(map(len, titles)))))
    return {"physical": labels == [MACHINE], f"{prefix}_columns": columns,
            f"{prefix}_key": 0.13 * -(-len(titles) // columns) + 0.11,
            f"{prefix}_caption": str(table["panel"].iloc[0]),
            f"{prefix}_data": str(scratch / f"{prefix}.dat"), f"{prefix}_series": len(labels),
            f"{prefix}_groups": table["x"].nunique(),
            f"{prefix}_titles": "|".join(titles),
            f"{prefix}_colours": "|".join(inks),
            f"{prefix}_min": 10 ** math.floor(math.log10(table["median"].min() * 0.5e-9)),
            f"{prefix}_max": float(table[["median", "high"]].max().max()) * 1.6e-9,
            f"{prefix}_lines": max(wrap_name(str(x), letters).count("\\n") + 1
                                   for x in table["x"])}


def paler(ink: str) -> str:
    """Half way to white."""
    return "#" + "".join(f"{(int(ink[i:i + 2], 16) + 255) // 2:02X}" for i in (1, 3, 5))


def gnuplot(panels: list[dict[str, Any]], out: Path, notes: list[str], footer: str) -> None:
    """Runs micro.gp; everything vertical is worked out here, in inches."""
    lines = style.wrap(notes, style.PAGE)
    below = style.LINE * (len(lines) + 1) + 0.12
    heights = [1.05 if panel["physical"] else 1.75 for panel in panels]
    under = [0.12 + 0.125 * panel[f"{p}_lines"] for p, panel in zip("abc", panels)]
    keys = [float(panel[f"{p}_key"]) for p, panel in zip("abc", panels)]
    height = below + sum(heights) + sum(under) + sum(keys)
    values: dict[str, Any] = {"out": str(out / NAME), "notes": "\\n".join(lines),
                              "footer": footer, "height": height, "panels": len(panels),
                              "notes_y": (style.LINE * (len(lines) + 0.75) + 0.04) / height}
    top = height
    for prefix, panel, tall, labels, key in zip("abc", panels, heights, under, keys):
        top -= key
        values.update({k: v for k, v in panel.items() if k != "physical"})
        values[f"{prefix}_top"] = top / height
        values[f"{prefix}_bottom"] = (top - tall) / height
        top -= tall + labels
    code = "; ".join(f"{k}={v}" if not isinstance(v, str) else f'{k}="{quote(v)}"'
                     for k, v in values.items())
    script = Path(__file__).resolve().parent / "micro.gp"
    try:
        run = subprocess.run(["gnuplot", "-e", code, str(script)], capture_output=True, text=True,
                             timeout=60, check=False)
    except FileNotFoundError as error:
        raise style.NoData("gnuplot is not installed (package gnuplot-nox)") from error
    if run.returncode:
        raise RuntimeError(f"gnuplot: {run.stderr.strip()}")


def quote(text: str) -> str:
    """For a double-quoted gnuplot string; underscores and the like are plain text here."""
    return text.replace('"', "'").replace("$", "").replace("`", "'")


def letters_for(table: pd.DataFrame) -> int:
    """Letters that fit under a group of bars."""
    return max(6, int(6.2 / max(1, table["x"].nunique()) / 0.062))


def draw(path: Path, out: Path) -> None:
    data = curves.read(path, "micro", x="invocation")
    plain = data.frame["label"].str.replace(r", workers \d+", "", regex=True)  # panels say it
    data = dataclasses.replace(data, frame=data.frame.assign(label=plain))
    frame = with_neighbours(data.frame)
    table = table_of(frame, sorted(set(frame["label"]), key=style.rank))
    if table.empty:
        raise style.NoData("no metric in ns an operation")
    said = (curves.notes(data, table)[:1] + curves.few_blocks(table)
            + curves.peers(data, set(table["series"])))
    said[0] = said[0].replace(", where wider than the marker", "")
    number = table["x"].nunique()
    if number < 3:
        said.append(f"Fewer than three operations ({number}): the data hold no more.")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        panels: list[dict[str, Any]] = []
        for _name, part in table.groupby("panel", sort=False):
            labels = sorted(set(part["series"]), key=style.rank)
            if len(part) < part["x"].nunique() * len(labels):
                said.append("Where a bar is missing the runtime does not have the operation.")
            panels.append(panel_of(part, labels, Path(scratch), "abc"[len(panels)]))
        gnuplot(panels, out, said, " · ".join(style.footer_text(data.prov)))
    style.save_table(table, out, NAME, said, [c for c in table if c.startswith("ratio")])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
