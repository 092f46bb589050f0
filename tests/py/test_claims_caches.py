# SPDX-License-Identifier: MIT
"""Claims of B4.4 and B4.10 on synthetic tables that must give each verdict, and their figures."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

from experiments.models import caches  # noqa: E402
from experiments.runner import claims, stats  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Point, table  # noqa: E402

DEPTHS = (1, 2, 4, 8, 16, 32)
#: what each of them is told by
TOLD: dict[str, Point] = {
    caches.FIBRE: {"server": "kvcache", "poller": "fibre"},
    **{who: {"server": "kvcache", "poller": "thread", "TENTER_POLLER": text} for text, who in caches.POLLERS.items()},
    **{who: {"server": server} for server, who in caches.SERVERS.items()}}
WORST, LOOP, BEST, EVENTS = claims.module("B4.4").CLAIMS


def as_source(who: str, depth: int) -> tuple[float, float]:
    """(requests a second, p99 in ns)"""
    if who == caches.EVENTS:
        return (50e3 if depth == 32 else 95e3), 1e6
    if who in (caches.OPPORTUNISTIC, caches.MS_10):
        return 70e3, 9e6
    if who == caches.LOOP:
        return (110e3 if depth < 4 else 90e3), 1e6
    return 100e3, 1e6


class Pollers(Case):
    row = "B4.4"

    @classmethod
    def setUpClass(cls) -> None:
        cls.addClassCleanup(setattr, stats, "RESAMPLES", stats.RESAMPLES)
        stats.RESAMPLES = 499                       # enough to judge what is that clear

    def points(self, of: Callable[[str, int], tuple[float, float]] = as_source, who: tuple[str, ...] = tuple(TOLD)) -> pd.DataFrame:
        return table(self.folder, [({"program": "loadgen", "workers": 1, "depth": depth, "connections": 2048,
                                     "TENTER_POLLER": None, "poller": None, **TOLD[name]},
                                    {"throughput": ("1/s", of(name, depth)[0]), "latency_p99": ("ns", of(name, depth)[1]),
                                     "latency_median": ("ns", 5e5)})
                                   for name in who for depth in DEPTHS])

    def test_names(self) -> None:
        spins = {"server": "kvcache --mutex spin-block", "poller": "fibre"}
        found = caches.named(pd.DataFrame([*TOLD.values(), spins, {"server": "httpd"}, {"server": "kvcache", "poller": "worker"}]))
        self.assertEqual(list(found["who"]), [*TOLD, "fibre, spin-block"])
        self.assertEqual(set(TOLD), set(caches.ALL))

    def test_as_the_source(self) -> None:
        found = self.judge(self.points())
        self.assertEqual([j.verdict for j in found.values()], [HOLDS] * 4, [j.why for j in found.values()])
        self.assertTrue(all(j.judged_by for j in found.values()))

    def test_each_fails(self) -> None:
        def but(name: str, rate: float, tail: float) -> Callable[[str, int], tuple[float, float]]:
            return lambda who, depth: (rate, tail) if who == name else as_source(who, depth)
        for claim, change, words in ((WORST, but(caches.MS_10, 105e3, 9e6), caches.MS_10),
                                     (WORST, but(caches.OPPORTUNISTIC, 70e3, 1e6), caches.OPPORTUNISTIC),
                                     (LOOP, but(caches.SLEEP, 120e3, 1e6), caches.SLEEP),
                                     (BEST, but(caches.LOOP, 110e3, 1e6), caches.LOOP),
                                     (EVENTS, but(caches.EVENTS, 95e3, 1e6), caches.OPPORTUNISTIC)):
            with self.subTest(claim):
                found = claims.module("B4.4").CLAIMS[claim](self.points(change))
                self.assertEqual(found.verdict, FAILS, found.why)
                self.assertIn(words, found.why)

    def test_not_decidable(self) -> None:
        found = self.judge(self.points(who=(caches.FIBRE, caches.LOOP)))
        for claim in (WORST, LOOP, BEST, EVENTS):
            self.assertEqual(found[claim].verdict, OPEN)
            self.assertIn("no point at", found[claim].why)
        frame = self.points()
        frame.loc[frame["depth"].eq(4), "connections"] = 10
        self.verdict(frame, WORST, OPEN, "mix values of connections")

    def test_figure(self) -> None:
        self.points()
        drawn = self.figure("cache_b4_4", 3)
        self.assertEqual(set(drawn["series"]), set(TOLD))


ALIKE, AHEAD, HEAVY, MEMORY = claims.module("B4.10").CLAIMS


class Writes(Case):
    row = "B4.10"
    setUpClass = Pollers.setUpClass

    def points(self, change: dict[tuple[str, float], float] | None = None, tail: float = 20.0, fibres: float = 16.0,
               connections: int = 6000) -> pd.DataFrame:
        """`change`: throughput of one, in a share of writes."""
        high = {caches.FIBRE: 120e3, caches.SLEEP: 110e3}
        return table(self.folder, [({"program": "loadgen", "workers": 2, "writes": share, "connections": connections,
                                     "TENTER_POLLER": None, "poller": None, **TOLD[who]},
                                    {"throughput": ("1/s", (change or {}).get((who, share), high.get(who, 100e3) if share > 0.5 else
                                                                              95e3 if who == caches.FIBRE else 100e3)),
                                     "latency_median": ("ns", 1e6), "cpu": ("ns", 5e3),
                                     "latency_p99": ("ns", 1e6 * (tail if who == caches.THREADS else 4)),
                                     "memory": ("B", 1024 * (fibres if who == caches.FIBRE else 12))})
                                   for who in (caches.FIBRE, caches.SLEEP, caches.EVENTS, caches.THREADS)
                                   for share in (0.1, 0.5, 0.9)])

    def test_as_the_source(self) -> None:
        found = self.judge(self.points())
        self.assertEqual([j.verdict for j in found.values()], [HOLDS] * 4, [j.why for j in found.values()])

    def test_each_fails(self) -> None:
        for claim, made in ((ALIKE, {"change": {(caches.THREADS, 0.1): 50e3}}), (AHEAD, {"change": {(caches.SLEEP, 0.9): 90e3}}),
                            (AHEAD, {"change": {(caches.FIBRE, 0.1): 120e3}}), (HEAVY, {"tail": 4.0}), (MEMORY, {"fibres": 12.0}),
                            (MEMORY, {"fibres": 64.0})):
            with self.subTest(claim):
                found = claims.module("B4.10").CLAIMS[claim](self.points(**made))   # type: ignore[arg-type]
                self.assertEqual(found.verdict, FAILS, found.why)

    def test_not_decidable(self) -> None:
        found = self.judge(self.points(connections=100))
        self.assertEqual([j.verdict for j in found.values()], [OPEN] * 4)

    def test_figure(self) -> None:
        self.points()
        drawn = self.figure("cache_b4_10", 3)
        self.assertEqual(set(drawn["x"]), {0.1, 0.5, 0.9})


if __name__ == "__main__":
    unittest.main()
