# SPDX-License-Identifier: MIT
"""Claims and figures of M4.4, M6.5 and B3.2 on synthetic tables that must give each verdict."""
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
from experiments.runner import claims, reproduce, tidy  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402

Point = dict[str, Any]
Metrics = dict[str, tuple[str, float]]


def table(folder: Path, points: list[tuple[Point, Metrics]], blocks: int = 8, cores: int = 2,
          noise: float = 0.01) -> pd.DataFrame:
    """A tidy.csv with one sample of each metric in each invocation, written and read back."""
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for number, (point, metrics) in enumerate(points):
            rng = random.Random(f"{number} {block}")
            base = {"cell": str(number), "block": block, "order": len(rows),
                    "invocation": block * len(points) + number, "warmup": False, "status": "ok",
                    "superseded": False, "series": "fifo", "scheduler_said": "fifo",
                    "runtime": "native", "binary_id": "b", "cores": cores, "rep": "1",
                    "oversubscribed": point.get("workers", 1) > cores, **point}
            rows += [{**base, "metric": m, "unit": u,
                      "value": v if m == "livelock" else v * (1 + rng.gauss(0, noise))}
                     for m, (u, v) in metrics.items()]
    path = folder / "tidy.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return tidy.load(path)


class Case(unittest.TestCase):
    row = ""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def judge(self, frame: pd.DataFrame) -> dict[str, claims.Judged]:
        return {j.claim: j for j in claims.judge(self.row, frame)}

    def verdict(self, frame: pd.DataFrame, claim: str, wanted: str, words: str = "") -> None:
        found = self.judge(frame)[claim]
        self.assertEqual(found.verdict, wanted, found.why)
        self.assertIn(words, found.why)
        if wanted != OPEN:
            self.assertTrue(found.judged_by)

    def figure(self, name: str, panels: int) -> pd.DataFrame:
        module = importlib.import_module(name)
        self.assertEqual(style.script(name, module.draw, [name, str(self.folder / "tidy.csv")]), 0)
        for end in ("pdf", "png"):
            self.assertTrue((self.folder / "figures" / f"{name}.{end}").exists())
        drawn = pd.read_csv(self.folder / "figures" / f"{name}.table.csv")
        self.assertEqual(drawn["panel"].nunique(), panels)
        return drawn


# -- M4.4 -----------------------------------------------------------------------------------------

NAIVE, POP, SWAP, GLOBAL = claims.module("M4.4").CLAIMS
BLOCKED = (1, 2, 8, 64)


def as_source(way: str, k: int, hogs: int) -> tuple[float, float, float]:
    """(livelock, tasks a second, ns a yield)"""
    stuck = (way == "top" or (way == "pop" and k >= 2) or (hogs > 0 and way in ("swap", "tail", "pop")))
    return float(stuck), 5e6 / (1 + k / (8 if way == "swap" else 100)), 20.0


def yields(way_of: Callable[[str, int, int], tuple[float, float, float]] = as_source,
           hogs: tuple[int, ...] = (0, 1),
           ways: tuple[str, ...] = ("top", "pop", "swap", "tail", "global", "soft"),
           blocked: tuple[int, ...] = BLOCKED) -> list[tuple[Point, Metrics]]:
    out: list[tuple[Point, Metrics]] = []
    for way in ways:
        for h in hogs:
            for k in blocked if h == 0 else (1, 8):
                stuck, rate, cost = way_of(way, k, h)
                metrics: Metrics = {"livelock": ("1", stuck), "yield": ("ns", cost)}
                if not stuck:
                    metrics["throughput"] = ("1/s", rate)
                out.append(({"program": "yield", "workers": 1 + h, "blocked": k, "hogs": h,
                             "hard": None, "series": f"yields:yield={way}",
                             "scheduler_said": "yields"}, metrics))
    return out


def but(way: str, stuck: float | None = None, rate: float = 1.0, cost: float = 1.0,
        where: Callable[[int, int], bool] = lambda k, h: True) \
        -> Callable[[str, int, int], tuple[float, float, float]]:
    """As the source, but for one way to yield."""
    def of(name: str, k: int, h: int) -> tuple[float, float, float]:
        a, b, c = as_source(name, k, h)
        if name != way or not where(k, h):
            return a, b, c
        return (a if stuck is None else stuck), b * rate, c * cost
    return of


class M44(Case):
    row = "M4.4"

    def test_all_hold(self) -> None:
        frame = table(self.folder, yields())
        for claim in (NAIVE, POP, SWAP, GLOBAL):
            with self.subTest(claim):
                self.verdict(frame, claim, HOLDS)

    def test_each_fails(self) -> None:
        for claim, change in ((NAIVE, but("top", 0.0)),
                              (NAIVE, but("tail", 0.0, where=lambda k, h: h == 1)),
                              (POP, but("pop", 1.0, where=lambda k, h: k == 1)),
                              (POP, but("pop", 0.0, where=lambda k, h: k == 8 and h == 0)),
                              (SWAP, but("swap", 1.0, where=lambda k, h: k == 64)),
                              (SWAP, but("swap", rate=20.0)),
                              (GLOBAL, but("global", 1.0, where=lambda k, h: h == 1)),
                              (GLOBAL, but("global", cost=3.0))):
            with self.subTest(claim):
                self.verdict(table(self.folder, yields(change)), claim, FAILS)

    def test_a_livelock_now_and_then_decides_nothing(self) -> None:
        frame = table(self.folder, yields())
        some = frame["series"].eq("yields:yield=global") & frame["metric"].eq("livelock") \
            & frame["block"].eq(3)
        frame.loc[some, "value"] = 1.0
        self.verdict(frame, GLOBAL, OPEN, "sometimes")

    def test_one_core_has_no_hog(self) -> None:
        frame = table(self.folder, yields(), cores=1)
        for claim in (NAIVE, GLOBAL):
            self.verdict(frame, claim, OPEN, "needs two cores")
        for claim in (POP, SWAP):
            self.verdict(frame, claim, HOLDS)

    def test_too_few_blocks(self) -> None:
        for found in self.judge(table(self.folder, yields(), blocks=5)).values():
            self.assertEqual(found.verdict, OPEN, found.why)
            self.assertIn("fewer than 6 blocks", found.why)

    def test_too_few_points(self) -> None:
        self.verdict(table(self.folder, yields(blocked=(8,))), POP, OPEN, "below and from 2")
        self.verdict(table(self.folder, yields(ways=("swap",))), SWAP, OPEN, "no point of yield=global")

    def test_points_with_hard_yields_of_the_program_are_left_out(self) -> None:
        extra = [({**p, "hard": 4}, {**m, "livelock": ("1", 1.0)}) for p, m in yields(ways=("global",))]
        frame = table(self.folder, yields() + extra)
        self.verdict(frame, GLOBAL, HOLDS)

    def test_mixed_sizes_are_refused(self) -> None:
        points = [({**p, "tasks": 16 if i % 2 else 256}, m) for i, (p, m) in enumerate(yields())]
        self.verdict(table(self.folder, points), SWAP, OPEN, "mix values of tasks")

    def test_figure(self) -> None:
        table(self.folder, yields())
        drawn = self.figure("yield_m4_4", 3)
        stuck = drawn[drawn["metric"].eq("livelock")]
        self.assertEqual(len(stuck), 6 * (len(BLOCKED) + 2))
        self.assertEqual(stuck.loc[stuck["series"].eq("top"), "median"].tolist(), [1.0] * 4)


# -- M6.5 -----------------------------------------------------------------------------------------

VISIBLE, = claims.module("M6.5").CLAIMS


def clocks(cost: dict[str, float], workers: tuple[int, ...] = (1, 2)) -> list[tuple[Point, Metrics]]:
    return [({"program": "packet", "workers": w, "clock": clock},
             {"throughput": ("1/s", 1e9 / (1200 / w + 2 * ns)), "counter_clock_read_ns": ("1", ns + 0.1)})
            for w in workers for clock, ns in cost.items()]


class M65(Case):
    row = "M6.5"
    dear = {"none": 0.0, "tsc": 12.0, "vdso": 27.0, "syscall": 1000.0}

    def test_holds_and_tells_the_others(self) -> None:
        frame = table(self.folder, clocks(self.dear))
        self.verdict(frame, VISIBLE, HOLDS, "throughput of vdso over tsc with 1 workers")

    def test_does_not_hold(self) -> None:
        self.verdict(table(self.folder, clocks({**self.dear, "syscall": 12.0})), VISIBLE, FAILS)

    def test_not_decidable(self) -> None:
        near = table(self.folder, clocks({"tsc": 12.0, "syscall": 24.0}, (1,)), noise=0.02)
        self.verdict(near, VISIBLE, OPEN, "more blocks are needed")
        none = table(self.folder, clocks({"tsc": 12.0, "vdso": 27.0}))
        self.verdict(none, VISIBLE, OPEN, "no point of clock syscall")
        few = table(self.folder, clocks(self.dear), blocks=5)
        self.verdict(few, VISIBLE, OPEN, "fewer than 6 blocks")
        crowded = table(self.folder, clocks(self.dear, (4,)))
        self.verdict(crowded, VISIBLE, OPEN, "more workers than cores")

    def test_figure(self) -> None:
        table(self.folder, clocks(self.dear))
        self.assertEqual(set(self.figure("clock_m6_5", 2)["series"]), set(self.dear))


# -- B3.2 -----------------------------------------------------------------------------------------

PAYS, SLEEPS = claims.module("B3.2").CLAIMS
RATES = (100, 1000, 5000, 10_000, 20_000, 50_000, 100_000)
BLOCK_NS = 50_000.0


def arrivals(rates: tuple[int, ...] = RATES, spin_cpu: float = 1.0, spin_latency: float = 0.3,
             idle: float = 0.001, block: float = BLOCK_NS) -> list[tuple[Point, Metrics]]:
    out: list[tuple[Point, Metrics]] = []
    for rate in rates:
        apart = 1e9 / rate
        for mode in ("block", "spin", "spin-block"):
            cpu = spin_cpu * apart if mode == "spin" else min(apart, block)
            wait = 8e3 * (spin_latency if mode == "spin" else 1.0)
            out.append(({"program": "arrivals", "workers": 1, "idle": mode, "rate": rate},
                        {"cpu": ("ns", cpu), "latency_median": ("ns", wait),
                         "idle_share": ("1", 0.99 if mode == "spin" else idle)}))
    return out


class B32(Case):
    row = "B3.2"

    def test_holds(self) -> None:
        frame = table(self.folder, arrivals())
        self.verdict(frame, PAYS, HOLDS, "must pay at 10, 20 us and not at 100, 200")
        self.verdict(frame, SLEEPS, HOLDS, "at most 0.10")

    def test_does_not_hold(self) -> None:
        for change in ({"spin_cpu": 2.0}, {"spin_latency": 1.5}, {"spin_cpu": 0.1}):
            with self.subTest(change):
                self.verdict(table(self.folder, arrivals(**change)), PAYS, FAILS)
        self.verdict(table(self.folder, arrivals(idle=0.05)), SLEEPS, FAILS)

    def test_not_decidable(self) -> None:
        far = table(self.folder, arrivals(rates=(100, 1000, 5000)))
        self.verdict(far, PAYS, OPEN, "below half and above twice")
        frame = table(self.folder, arrivals())
        self.verdict(frame[frame["idle"].ne("spin")], PAYS, OPEN, "no point of spin")
        self.verdict(frame[frame["idle"].ne("block")], SLEEPS, OPEN, "no point of block")
        for found in self.judge(table(self.folder, arrivals(), blocks=5)).values():
            self.assertEqual(found.verdict, OPEN, found.why)

    def test_figure(self) -> None:
        table(self.folder, arrivals())
        drawn = self.figure("arrivals_b3_2", 3)
        self.assertEqual(sorted(set(drawn["x"].round())), sorted(1e9 / r for r in RATES))


class Table(Case):
    def test_factors_that_vary_tell_lines_apart(self) -> None:
        lines = reproduce.table_of(table(self.folder, arrivals(rates=(100, 1000))), "rate")
        self.assertEqual(lines[0], ["rate", "series", "cpu each", "idle share"])
        self.assertEqual([line[1] for line in lines[1:4]],
                         ["fifo, idle block", "fifo, idle spin", "fifo, idle spin-block"])


if __name__ == "__main__":
    unittest.main()
