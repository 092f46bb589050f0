# SPDX-License-Identifier: MIT
"""Claims of B4.4, B4.10, B4.14 and B4.15 on synthetic tables that must give each verdict, and their figures."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

from experiments.models import caches  # noqa: E402
from experiments.runner import claims, reproduce, stats, tidy  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Point, table  # noqa: E402

DEPTHS = (1, 2, 4, 8, 16, 32)
#: what each of them is told by
TOLD: dict[str, Point] = {
    **{who: {"server": "kvcache", "poller": who} for who in (caches.FIBRE, caches.WORKER)},
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
        found = caches.named(pd.DataFrame([*TOLD.values(), spins, {"server": "httpd"}, {"server": "kvcache", "poller": "uring"}]))
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


BEHIND, BEFORE = claims.module("B4.15").CLAIMS
SPINS = [caches.FIBRE, caches.LOOP]


class Etc(Case):
    row = "B4.15"
    setUpClass = Pollers.setUpClass

    def points(self, change: dict[tuple[str, str, str], float] | None = None, connections: int = 6000) -> pd.DataFrame:
        """`change`: of one, under a load, a metric."""
        told = {**TOLD, **{who + caches.SPIN_BLOCK: {**TOLD[who], "server": "kvcache --mutex spin-block"} for who in SPINS}}
        rate = {caches.EVENTS: 120e3, caches.MEMCACHED: 120e3, caches.THREADS: 60e3}
        late = {caches.EVENTS: 1e6, caches.MEMCACHED: 1e6, caches.THREADS: 9e6}

        def of(who: str, load: str, metric: str, usual: float) -> float:
            return (change or {}).get((who, load, metric), usual)
        return table(self.folder, [({"program": "loadgen", "workers": 2, "writes": 0.1, "depth": depth, "connections": connections,
                                     "rate": 2000 if load == caches.OPEN else None, "arrivals": "pareto" if load == caches.OPEN else None,
                                     "TENTER_POLLER": None, "poller": None, **told[who]},
                                    {"throughput": ("1/s", of(who, load, "throughput", 2000 if load == caches.OPEN else rate.get(who, 100e3))),
                                     **{metric: ("ns", of(who, load, metric, late.get(who, 2e6)))
                                        for metric in ("latency_mean", "latency_p90")}})
                                   for who in told for load, depth in ((caches.CLOSED, 1), (caches.CLOSED, 16), (caches.OPEN, 1))])

    def test_as_the_source(self) -> None:
        found = self.judge(self.points())
        self.assertEqual([j.verdict for j in found.values()], [HOLDS] * 2, [j.why for j in found.values()])

    def test_each_fails(self) -> None:
        for claim, change in ((BEHIND, (caches.LOOP, caches.CLOSED, "throughput", 130e3)),
                              (BEHIND, (caches.FIBRE + caches.SPIN_BLOCK, caches.CLOSED, "throughput", 130e3)),
                              (BEHIND, (caches.FIBRE, caches.OPEN, "latency_p90", 5e5)), (BEHIND, (caches.FIBRE, caches.OPEN, "latency_mean", 5e5)),
                              (BEFORE, (caches.THREADS, caches.CLOSED, "throughput", 110e3)),
                              (BEFORE, (caches.LOOP, caches.OPEN, "latency_p90", 2e7))):
            with self.subTest(claim):
                found = claims.module("B4.15").CLAIMS[claim](self.points({change[:3]: change[3]}))  # type: ignore[arg-type]
                self.assertEqual(found.verdict, FAILS, found.why)
                self.assertIn(change[0], found.why)

    def test_not_decidable(self) -> None:
        found = self.judge(self.points(connections=100))
        self.assertEqual([j.verdict for j in found.values()], [OPEN] * 2)

    def test_figure(self) -> None:
        self.points()
        lines = [line[1] for line in reproduce.table_of(tidy.load(self.folder), "depth")]
        self.assertEqual(sum("rate 2000" in line for line in lines), len(TOLD) + len(SPINS))    # a line of their own
        drawn = self.figure("cache_b4_15", 3)
        self.assertEqual(set(drawn["series"]), {*TOLD, *(who + caches.SPIN_BLOCK for who in SPINS)})


ONLY, = claims.module("B4.14").CLAIMS


class Variants(Case):
    row = "B4.14"
    told: dict[str, Point] = {caches.PLAIN: {}, caches.PINNED: {"pin": True}, caches.BATON: {"server": "kvcache --mutex baton"},
                              caches.LOCKED: {"scheduler": "pushing:queue=locked:levels=3", "TENTER_IDLE": "block"},
                              caches.NO_STEALING: {"scheduler": "pushing:steal=stuck:levels=3", "TENTER_IDLE": "block"}}

    def points(self, changed: str = "", part: float = 1.0, cores: tuple[int, ...] = (1, 2, 16)) -> pd.DataFrame:
        """`part`: of one, over what the runtime does as it is."""
        usual = {caches.NO_STEALING: 0.7, caches.BATON: 0.6, changed: part}
        return table(self.folder, [({"program": "loadgen", "server": "kvcache", "scheduler": "pushing:preset=fibre", "pin": None,
                                     "TENTER_IDLE": None, "workers": n, "connections": 12000, **told},
                                    {"throughput": ("1/s", 1e5 * n * (usual.get(who, 1) if n > 2 else 1)), "cpu": ("ns", 5e3),
                                     "latency_p99": ("ns", 1e6)})
                                   for who, told in self.told.items() for n in cores], cores=16)

    def test_verdicts(self) -> None:
        self.verdict(self.points(), ONLY, HOLDS)
        for who, part in ((caches.PINNED, 0.8), (caches.LOCKED, 0.8), (caches.NO_STEALING, 1.0), (caches.BATON, 1.2)):
            self.verdict(self.points(who, part), ONLY, FAILS, who)

    def test_few_cores(self) -> None:
        self.verdict(self.points(cores=(1, 2)), ONLY, OPEN, "no point at workers 8 to 64 within the cores, only at 1, 2")

    def test_figure(self) -> None:
        self.points()
        self.assertEqual(set(self.figure("cache_b4_14", 3)["series"]), set(self.told))


if __name__ == "__main__":
    unittest.main()
