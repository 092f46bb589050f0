# SPDX-License-Identifier: MIT
"""Finds the figure scripts in plots/, runs them, and reads back what they drew."""
from __future__ import annotations

import base64
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

import pandas as pd

from . import stats
from .errors import nearest

ROOT = Path(__file__).resolve().parents[2]
PLOTS = ROOT / "plots"
SHARED = ("style", "curves", "factors")
NO_DATA = 3
#: rows of a table that the page shows; a longer one stands in the CSV alone, for to leave out some
#: may be to leave out a condition
MOST_ROWS = 500
OPEN_ROWS = 30


@dataclass
class Drawn:
    """One figure: its files and its table, or why there is none."""

    name: str
    problem: str | None = None
    pdf: str | None = None
    csv: str | None = None
    png: bytes = b""
    table: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def image(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode()

    @property
    def notes(self) -> str:
        said = self.table["note"].dropna() if "note" in self.table else []
        return str(said.iloc[0]) if len(said) else ""

    @property
    def why_few(self) -> str:
        """Of the notes, which the image holds too, the one that tells why its points are few."""
        found = re.search(r"Fewer than three .+?: .+?\.(?=\s|$)", self.notes)
        return found[0] if found else ""

    @property
    def title(self) -> str:
        text = self.name.replace("_", " ").capitalize()
        return text.replace("m7 1", "M7.1")

    @property
    def x_values(self) -> int:
        return int(self.table["x"].nunique()) if "x" in self.table else 0

    @property
    def intervals(self) -> bool:
        return bool(len(self.table) and self.table[["low", "high"]].notna().all(axis=1).any())

    def header(self) -> list[str]:
        x_name = str(self.table["x_name"].iloc[0])
        head = ["panel", "series", x_name, "median", "95 % interval", "invocations", "remark"]
        return head + (["over pthreads"] if "ratio_text" in self.table else [])

    @property
    def too_long(self) -> bool:
        return len(self.table) > MOST_ROWS

    @property
    def opened(self) -> bool:
        return len(self.table) <= OPEN_ROWS

    @property
    def words(self) -> list[str]:
        """What the remarks of this table mean."""
        said = {flag for text in self.table.get("flag", pd.Series(dtype=str)).dropna()
                for flag in str(text).split(", ")}
        return [text for flag, text in stats.MEANINGS.items() if flag in said]

    def lines(self) -> list[list[str]]:
        """The table in words, a list of cells a line."""
        out = []
        for _index, row in self.table.iterrows():
            unit = str(row["unit"])
            low, high = float(row["low"]), float(row["high"])
            span = f"{quantity(low, unit)} to {quantity(high, unit)}" if low == low else "–"
            remark = [str(row["flag"])] if isinstance(row["flag"], str) and row["flag"] else []
            if str(row["oversubscribed"]) == "True":
                remark.append("more workers than cores")
            x = row["x"]
            shown = quantity(x, unit) if row["x_name"] == "latency" else (
                f"{x:g}" if isinstance(x, (int, float)) else str(x))
            line = [str(row["panel"]), str(row["series"]), shown]
            if str(row["metric"]).startswith("share"):
                line += [f"{row['median']:.3g}", f"{low:.3g} to {high:.3g}" if low == low else "–"]
            else:
                line += [quantity(row["median"], unit), span]
            line += [str(row["n"]), ", ".join(remark)]
            if "ratio_text" in row:
                line.append(row["ratio_text"] if isinstance(row["ratio_text"], str) else "")
            out.append(line)
        return out


def quantity(value: Any, unit: str) -> str:
    """A number with its unit: 12.3 µs, 1.52 M/s."""
    value = float(value)
    if value != value:
        return "–"
    if unit in ("ns", "s"):
        nanos = value * (1e9 if unit == "s" else 1.0)
        for size, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
            if abs(nanos) >= size * 0.9995:
                return f"{stats.number(nanos / size)} {name}"
        return f"{stats.number(nanos)} ns"
    if unit == "1/s":
        for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size * 0.9995:
                return f"{stats.number(value / size)} {name}/s"
        return f"{stats.number(value)} /s"
    return stats.number(value) + ("" if unit == "1" else f" {unit}")


def known() -> list[str]:
    """Names of all figure scripts."""
    return sorted(p.stem for p in PLOTS.glob("*.py") if p.stem not in SHARED)


def resolve(name: str, programs: Sequence[str]) -> str:
    """The script that a matrix means: `throughput` is packet_throughput for the program packet."""
    names = known()
    families = list(dict.fromkeys(p.split("-")[0] for p in programs))
    for candidate in [name, *(f"{family}_{name}" for family in families)]:
        if candidate in names:
            return candidate
    starts = [n for n in names if n.startswith(name + "_")]
    if len(starts) == 1:
        return starts[0]
    raise KeyError(f"unknown figure '{name}' ({nearest(name, names)})")


def defaults(programs: Sequence[str]) -> list[str]:
    """Every figure of the programs that were run, for a matrix that names none."""
    families = {p.split("-")[0] for p in programs}
    return [n for n in known() if n.split("_")[0] in families]


def draw(name: str, table: Path) -> Drawn:
    """Runs one script as a process of its own, so that nothing it does harms the report."""
    command = [sys.executable, str(PLOTS / f"{name}.py"), str(table)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        return Drawn(name, "drawing took more than 180 s")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        return Drawn(name, last[0].removeprefix(f"{name}: "))
    png, pdf, csv = _files(name, table)
    return Drawn(name, None, f"figures/{pdf.name}", f"figures/{csv.name}", png.read_bytes(),
                 pd.read_csv(csv))


def _files(name: str, table: Path) -> list[Path]:
    return [table.parent / "figures" / f"{name}.{end}" for end in ("png", "pdf", "table.csv")]


def is_drawn(name: str, table: Path) -> bool:
    """Whether the figure lies beside the table and is no older."""
    files = _files(name, table)
    return all(f.exists() and f.stat().st_mtime >= table.stat().st_mtime for f in files)


def draw_all(asked: Sequence[str], programs: Sequence[str], table: Path,
             keep: bool = False) -> list[Drawn]:
    """Each figure asked for, in order; one that is unknown or lacks data carries its problem.

    With `keep` those that this command has drawn before are not drawn again."""
    def one(asked_name: str) -> Drawn:
        name = asked_name
        try:
            name = resolve(asked_name, programs)
            if keep and is_drawn(name, table):
                return Drawn(name, None, f"figures/{name}.pdf", f"figures/{name}.table.csv")
            return draw(name, table)
        except KeyError as error:
            return Drawn(name, str(error.args[0]))
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(one, dict.fromkeys(asked)))
