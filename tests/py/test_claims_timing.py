# SPDX-License-Identifier: MIT
"""Claims and figures of H3, H5 and T1 on synthetic tables that must give each verdict."""
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


GOALS, THREADS, FIFO = claims.module("T1").CLAIMS
CASES = ("yield_2", "yield_1000", "spawn_join", "spawn_join_100", "ping_pong", "fork_join")
PEERS = {"pthread": (2000.0, 2000.0, 36000.0, 41000.0, 5000.0, 150000.0), "go": (64.0, 64.0, 357.0, 163.0, 249.0, 909.0)}
MODULES = {name: (10.0, 11.0, 35.0, 36.0, 80.0, 35.0) for name in ("fifo", "lifo", "multiq")}


def overheads(peers: tuple[str, ...] = ("pthread", "go"), workers: tuple[int, ...] = (1, 2),
              changed: dict[str, Metrics] | None = None) -> list[tuple[Point, Metrics]]:
    """Tasks of modules and of peers; `changed` has a module's other values."""
    out: list[tuple[Point, Metrics]] = []
    for n in workers:
        out += [({"program": "micro", "scheduler": name, "workers": n}, dict(zip(CASES, values)) | (changed or {}).get(name, {}))
                for name, values in MODULES.items()]
        out += [({"program": f"micro-{peer}", "scheduler": None, "scheduler_said": None, "workers": n}, dict(zip(CASES, PEERS[peer])))
                for peer in peers]
    return out


class Overheads(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def verdict(self, frame: pd.DataFrame, claim: str, wanted: str, words: str = "") -> None:
        found = next(j for j in claims.judge("T1", frame) if j.claim == claim)
        self.assertEqual(found.verdict, wanted, found.why)
        self.assertIn(words, found.why)

    def test_holds(self) -> None:
        frame = table(self.folder, overheads())
        for claim in (GOALS, THREADS, FIFO):
            with self.subTest(claim):
                self.verdict(frame, claim, HOLDS)

    def test_fails(self) -> None:
        for claim, module, case, value in (*((GOALS, "lifo", case, 300.0) for case in CASES), (GOALS, "fifo", "fork_join", 50.0),
                                           (THREADS, "multiq", "spawn_join", 4000.0), (THREADS, "fifo", "spawn_join_100", 5000.0),
                                           (FIFO, "multiq", "spawn_join", 80.0), (FIFO, "lifo", "spawn_join_100", 80.0)):
            with self.subTest(f"{claim}: {module} {case}"):
                self.verdict(table(self.folder, overheads(changed={module: {case: value}})), claim, FAILS, case)

    def test_not_decidable(self) -> None:
        self.verdict(table(self.folder, overheads(peers=("pthread",))), GOALS, OPEN, "of go")
        self.verdict(table(self.folder, overheads(peers=("go",))), THREADS, OPEN, "of pthread")
        self.verdict(table(self.folder, overheads(workers=(2,))), GOALS, OPEN, "no point with one worker, only with 2")
        self.verdict(table(self.folder, overheads(workers=(2,))), FIFO, OPEN, "with 1 worker")
        for claim in (GOALS, THREADS, FIFO):
            self.verdict(table(self.folder, overheads(), blocks=4), claim, OPEN, "fewer than 6 blocks")
            self.verdict(table(self.folder, [p for p in overheads() if p[0]["program"] != "micro"]), claim, OPEN,
                         "no usable row of micro")

    def test_one_core(self) -> None:
        """With one core there is no second worker: the goals of two are not asked for."""
        self.verdict(table(self.folder, overheads(workers=(1,))), GOALS, HOLDS)


if __name__ == "__main__":
    unittest.main()
