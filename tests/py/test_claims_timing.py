# SPDX-License-Identifier: MIT
"""Claims and figures of H3 and H5 on synthetic tables that must give each verdict."""
from __future__ import annotations

import importlib
import random
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

import style  # noqa: E402
from experiments.runner import claims, tidy  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402

Point = dict[str, Any]
Metrics = dict[str, float]


def table(folder: Path, points: list[tuple[Point, Metrics]], blocks: int = 8) -> pd.DataFrame:
    """A tidy.csv with one sample of each metric in each invocation, written and read back."""
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for number, (point, metrics) in enumerate(points):
            rng = random.Random(f"{number} {block}")
            base = {"cell": str(number), "block": block, "order": len(rows),
                    "invocation": block * len(points) + number, "warmup": False, "status": "ok",
                    "superseded": False, "series": "fifo", "scheduler_said": "fifo",
                    "runtime": "native", "binary_id": "b", "cores": 2, "rep": "1", "workers": 1,
                    "scheduler": "fifo", "oversubscribed": False, **point}
            rows += [{**base, "metric": m, "unit": "ns", "value": v * (1 + rng.gauss(0, 0.01))}
                     for m, v in metrics.items()]
    path = folder / "tidy.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return tidy.load(path)


def suspensions(cost: Callable[[str, str], Metrics]) -> list[tuple[Point, Metrics]]:
    return [({"program": "suspension", "suspension": s, "dead": d, "workers": w}, cost(s, d))
            for s in ("next", "utility", "lock") for d in ("next", "utility") for w in (1, 2)]


def as_argued(suspension: str, dead: str) -> Metrics:
    return {"yield_2": 13.0 if dead == "next" else 12.0,
            "wait_wake": {"next": 30.0, "utility": 36.0, "lock": 40.0}[suspension],
            "suspend_wake": {"next": 30.0, "utility": 36.0, "lock": 40.0}[suspension],
            "end_detached": 30.0 if dead == "next" else 36.0}


def upside_down(suspension: str, dead: str) -> Metrics:
    return {name: 100.0 / value for name, value in as_argued(suspension, dead).items()}


def timers(cost: Callable[[str, int], float]) -> list[tuple[Point, Metrics]]:
    return [({"program": "timers", "timers": t, "deadlines": d, "armed": n},
             {m: cost(t, n) for m in ("arm", "restart", "cancel", "expire")})
            for t in ("heap", "wheel") for d in ("uniform", "same")
            for n in (1000, 10_000, 100_000, 1_000_000)]


def as_hoped(structure: str, n: int) -> float:
    return 20.0 if structure == "wheel" else 10.0 * len(str(n)) ** 2


def wheel_worse(structure: str, n: int) -> float:
    return 0.1 * n if structure == "wheel" else 10.0 * len(str(n))


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def all_are(self, row: str, frame: pd.DataFrame, wanted: str) -> None:
        judged = claims.judge(row, frame)
        self.assertGreaterEqual(len(judged), 3)
        for found in judged:
            with self.subTest(found.claim):
                self.assertEqual(found.verdict, wanted, found.why)

    def draw(self, name: str, panels: int, series: int) -> None:
        module = importlib.import_module(name)
        self.assertEqual(style.script(name, module.draw, [name, str(self.folder / "tidy.csv")]), 0)
        for end in ("pdf", "png"):
            self.assertTrue((self.folder / "figures" / f"{name}.{end}").exists())
        drawn = pd.read_csv(self.folder / "figures" / f"{name}.table.csv")
        self.assertEqual((drawn["panel"].nunique(), drawn["series"].nunique()), (panels, series))

    def test_h3(self) -> None:
        self.all_are("H3", table(self.folder, suspensions(upside_down)), FAILS)
        self.all_are("H3", table(self.folder, suspensions(as_argued)), HOLDS)
        self.draw("suspension_h3", 4, 6)

    def test_h3_not_decidable(self) -> None:
        self.all_are("H3", table(self.folder, suspensions(lambda s, d: dict.fromkeys(
            as_argued(s, d), 10.0))), OPEN)
        self.all_are("H3", table(self.folder, suspensions(as_argued), blocks=3), OPEN)
        only = [p for p in suspensions(as_argued) if p[0]["suspension"] == "lock"]
        self.all_are("H3", table(self.folder, only), OPEN)

    def test_h5(self) -> None:
        self.all_are("H5", table(self.folder, timers(wheel_worse)), FAILS)
        self.all_are("H5", table(self.folder, timers(as_hoped)), HOLDS)
        self.draw("timers_h5", 4, 4)

    def test_h5_not_decidable(self) -> None:
        few = [p for p in timers(as_hoped) if p[0]["armed"] < 1_000_000]
        self.all_are("H5", table(self.folder, few), OPEN)
        self.all_are("H5", table(self.folder, timers(as_hoped), blocks=3), OPEN)


if __name__ == "__main__":
    unittest.main()
