# SPDX-License-Identifier: MIT
"""Claims of M5.1, B4.1, M4.3, M7.12 to M7.15 on synthetic tables that must give each verdict."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Metrics, Point, table  # noqa: E402

Speeds = dict[str, dict[int, float]]


def points(program: str, factor: str, x: str, speeds: Speeds, **more: object) -> list[tuple[Point, Metrics]]:
    out: list[tuple[Point, Metrics]] = []
    for name, by_x in speeds.items():
        for at, speed in by_x.items():
            point: Point = {"program": program, "series": name, "scheduler_said": name.split(":")[0],
                            factor: name, x: at, **more}
            out.append((point, {"throughput": ("1/s", speed), "latency_p50_ns": ("ns", 1e9 / speed),
                                "latency_p99_ns": ("ns", 2e9 / speed)}))
    return out


class Queues(Case):
    def each(self, make: Callable[[Speeds], list[tuple[Point, Metrics]]], holds: Speeds, fails: Speeds,
             few: Speeds) -> None:
        for speeds, verdict in ((holds, HOLDS), (fails, FAILS), (few, OPEN)):
            found = self.judge(self.frame(make(speeds)))
            self.assertEqual({claim: j.verdict for claim, j in found.items()}, dict.fromkeys(found, verdict),
                             [j.why for j in found.values()])

    def frame(self, rows: list[tuple[Point, Metrics]]) -> pd.DataFrame:
        return table(self.folder, rows, cores=128)


class Rings(Queues):
    row = "M5.1"

    def test_verdicts(self) -> None:
        def make(speeds: Speeds) -> list[tuple[Point, Metrics]]:
            return points("crowd", "structure", "workers", speeds, producers=0)

        def of(ring: float, fad: float, cas: float) -> Speeds:
            return {"mpmc-ring": {8: 5e6, 128: ring}, "mpmc-fad": {8: 6e6, 128: fad}, "mpmc-cas": {8: 4e6, 128: cas}}
        self.each(make, of(4e6, 4e6, 3e5), of(1e6, 4e6, 3e6), {q: {2: 5e6} for q in of(1, 1, 1)})


class Migration(Queues):
    row = "B4.1"

    def test_verdicts(self) -> None:
        names = ["pushing:fresh=staging", *(f"pushing:fresh=push:queue={q}" for q in ("locked", "node", "stub"))]

        def make(speeds: Speeds) -> list[tuple[Point, Metrics]]:
            return points("migrate", "scheduler", "workers", speeds)
        rising = {n: {24: 1e6 * (i + 1), 64: 1e6 * (i + 1)} for i, n in enumerate(names)}
        self.each(make, rising, {n: rising[m] for n, m in zip(names, reversed(names))}, {n: {2: 1e6} for n in names})


class Stages(Queues):
    row = "M4.3"

    def test_verdicts(self) -> None:
        """With any number of workers: loads count a worker."""
        for n in (2, 10):
            def make(speeds: Speeds, n: int = n) -> list[tuple[Point, Metrics]]:
                return points("stages", "scheduler", "rate", speeds, workers=n)

            def of(low: float, staged: float, sharded: float, n: int = n) -> Speeds:
                return {"staged": {3000 * n: low, 30000 * n: 3e4 * n, 60000 * n: staged * n},
                        "sharded": {3000 * n: 3e4, 30000 * n: 3e4 * n, 60000 * n: sharded * n}}
            with self.subTest(n):
                self.each(make, of(2e4, 2.9e4, 2e4), of(3e4, 2e4, 3e4), {"staged": {3000 * n: 2e4}})


class Sets(Queues):
    row = "M7.12"

    def test_verdicts(self) -> None:
        def make(speeds: Speeds) -> list[tuple[Point, Metrics]]:
            return points("packet", "scheduler", "workers", speeds)
        slow, fast = {5: 1e5, 20: 1e5}, {5: 1e5, 20: 2e5}
        self.each(make, {"fifo": slow, "lifo": fast}, {"fifo": fast, "lifo": slow}, {"fifo": {1: 1e5}, "lifo": {1: 1e5}})


class Bimodal(Queues):
    row = "M7.13"

    def test_verdicts(self) -> None:
        def make(speeds: Speeds) -> list[tuple[Point, Metrics]]:
            return points("packet", "scheduler", "workers", speeds)
        slow, fast = {5: 1e5, 20: 1e5}, {5: 1e5, 20: 2e5}
        self.each(make, {"fifo": fast, "lifo": slow}, {"fifo": slow, "lifo": fast}, {"fifo": {1: 1e5}, "lifo": {1: 1e5}})


class Mixer(Queues):
    row = "M7.14"

    def rows(self, missed: dict[str, list[float]]) -> pd.DataFrame:
        return self.frame([({"program": "mixer", "series": name, "scheduler_said": name.split(":")[0], "scheduler": name,
                             "calls": calls, "wait-by": "yield", "codec": "ulaw"},
                            {"missed": ("1", share), "latency_p50_ns": ("ns", 1e6), "latency_p99_ns": ("ns", 1e7)})
                           for name, shares in missed.items() for calls, share in zip((100, 400, 1000), shares)])

    def test_verdicts(self) -> None:
        longest, needs = "fifo meets the deadline longest", "lifo needs the yield queue"
        good, soon, never = [0.0, 0.002, 0.2], [0.001, 0.3, 0.4], [0.98, 0.99, 0.99]
        found = self.rows({"fifo": good, "lifo": soon, "sharded": soon, "yields:yield=top": never})
        self.verdict(found, longest, HOLDS)
        self.verdict(found, needs, HOLDS)
        found = self.rows({"fifo": soon, "lifo": soon, "sharded": good, "yields:yield=top": soon})
        self.verdict(found, longest, FAILS)
        self.verdict(found, needs, FAILS)
        found = self.rows({"fifo": good, "lifo": good, "sharded": soon})
        self.verdict(found, longest, OPEN)      # as long as lifo
        self.verdict(found, needs, OPEN, "yields:yield=top")
        self.verdict(self.rows({"fifo": [0.0], "lifo": [0.0], "sharded": [0.0]}), longest, OPEN, "fewer than 3")

    def test_one_miss_below_ends_it(self) -> None:
        """Who misses it with few calls does not meet it with more, whatever the figures say."""
        found = self.rows({"fifo": [0.0, 0.0, 0.2], "lifo": [0.2, 0.0, 0.0], "sharded": [0.2, 0.0, 0.0]})
        self.verdict(found, "fifo meets the deadline longest", HOLDS)

    def test_figure(self) -> None:
        self.rows({"fifo": [0.0, 0.1, 0.2], "lifo": [0.0, 0.0, 0.2]})
        self.assertEqual(set(self.figure("mixer_m7_14", 3)["series"]), {"fifo, by yield", "lifo, by yield"})


class Wavefront(Queues):
    row = "M7.15"

    def test_verdicts(self) -> None:
        def make(speeds: Speeds) -> list[tuple[Point, Metrics]]:
            return [point for problem in ("put", "align")
                    for point in points("wavefront", "scheduler", "side", speeds, problem=problem, spawn="next", workers=2)]
        slow, fast = {4: 1e5, 16: 1e5}, {4: 1e5, 16: 2e5}
        self.each(make, {"fifo": slow, "lifo": fast}, {"fifo": fast, "lifo": slow}, {"fifo": {4: 1e5}, "lifo": {4: 1e5}})
        self.frame(make({"fifo": slow, "lifo": fast}))
        self.assertEqual(set(self.figure("wavefront_m7_15", 2)["series"]), {f"{s}, each spawns the next" for s in ("fifo", "lifo")})


if __name__ == "__main__":
    unittest.main()
