# SPDX-License-Identifier: MIT
"""Which invocations a run has, in which order, and how long they may take."""
from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import Stop, nearest
from .matrix import Cell, Matrix
from .store import of_host

ORDERS = ("blocks", "round-robin", "sequential")
#: seconds of an invocation of which nothing is known
GUESS = 2.0


@dataclass(frozen=True)
class Invocation:
    cell: Cell
    block: int
    order: int              # position in the whole run
    seed: int


def order(cells: list[Cell], how: str, seed: int) -> list[Invocation]:
    """`blocks`: each block runs every cell once that has so many, shuffled; the same seed gives the same order."""
    pairs: list[tuple[Cell, int]] = []
    if how == "sequential":
        pairs = [(cell, block) for cell in cells for block in range(cell.blocks)]
    else:
        for block in range(max((c.blocks for c in cells), default=0)):
            turn = [c for c in cells if block < c.blocks]
            if how == "blocks":
                random.Random(f"{seed}/{block}").shuffle(turn)
            pairs += [(cell, block) for cell in turn]
    return [Invocation(cell, block, i, seed + block) for i, (cell, block) in enumerate(pairs)]


def only(matrix: Matrix, wanted: list[str]) -> list[Cell]:
    """The cells that each `factor=value[,value]` lets through; one factor twice adds values."""
    table: dict[str, list[str]] = {}
    for text in wanted:
        name, equals, value = text.partition("=")
        if not equals:
            raise Stop(f"--only {text}: write it as factor=value")
        table.setdefault(name, []).extend(value.split(","))
    factors: dict[str, list[str]] = {}
    for cell in matrix.cells:
        for name, value in _point(cell).items():
            factors.setdefault(name, []).append(value)
    for name, values in table.items():
        if name not in factors:
            raise Stop(f"--only {name}=…: unknown factor '{name}' of matrix {matrix.name} "
                       f"({nearest(name, factors)})")
        for value in values:
            if value not in factors[name]:
                raise Stop(f"--only {name}={value}: {name} takes no such value in matrix "
                           f"{matrix.name} ({nearest(value, factors[name])})")
    return [c for c in matrix.cells
            if all(_point(c).get(name) in values for name, values in table.items())]


def _point(cell: Cell) -> dict[str, str]:
    return {"program": cell.program,
            **{k: str(v).lower() if isinstance(v, bool) else str(v)
               for k, v in cell.params.items()}}


def shard(cells: list[Cell], text: str | None) -> list[Cell]:
    """The i-th of n parts; a cell stays whole, since its blocks are to be compared."""
    if text is None:
        return cells
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise Stop(f"--shard {text}: write it as i/n with 1 <= i <= n")
    return cells[int(match[1]) - 1::int(match[2])]


class Estimator:
    """Seconds an invocation: as it took in this run, else in an earlier one, else as told, times what this run has taken
    for what it was told about cells of the same program and runtime."""

    def __init__(self, results: Path, matrix: str) -> None:
        self._seen: dict[str, list[float]] = {}
        self._told: dict[tuple[str, str | None], list[float]] = {}
        for path in sorted(results.glob(f"{matrix}-*/rows.jsonl"))[-3:]:
            try:
                for line in path.read_text(encoding="utf-8").splitlines():
                    row = json.loads(line)
                    self._learn(_row_key(row), float(of_host(row, "wall_s")), str(row["status"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue

    def _learn(self, key: str, wall: float, status: str) -> bool:
        counts = status in ("ok", "failed", "invalid", "saturated", "timeout")
        if counts:
            self._seen.setdefault(key, []).append(wall)
        return counts

    def ended(self, cell: Cell, wall: float, status: str) -> None:
        if self._learn(cell_key(cell), wall, status):
            self._told.setdefault(_kind(cell), []).append(wall / _told(cell))

    def seconds(self, cell: Cell) -> float:
        seen = self._seen.get(cell_key(cell))
        if seen:
            return sum(seen[-5:]) / len(seen[-5:])
        ratios = self._told.get(_kind(cell), [1.0])
        return _told(cell) * sum(ratios) / len(ratios)


def _told(cell: Cell) -> float:
    return cell.estimate or GUESS


def _kind(cell: Cell) -> tuple[str, str | None]:
    return cell.program, cell.build.get("runtime")


def cell_key(cell: Cell) -> str:
    return json.dumps([cell.program, cell.params, cell.options, cell.reps], sort_keys=True)


def _row_key(row: dict[str, Any]) -> str:
    return json.dumps([row["program"], row["params"], row["options"], row["reps"]],
                      sort_keys=True)


def human(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
