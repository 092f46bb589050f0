# SPDX-License-Identifier: MIT
"""Claims of B4.5, B4.6, B6.2 and B6.3 on synthetic tables that must give each verdict, and their figures."""
from __future__ import annotations

import contextlib
import io
import json
import sys
import unittest
from pathlib import Path
from typing import Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

from experiments.models import contenders, locks  # noqa: E402
from experiments.runner import claims, reproduce  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Metrics, Point, table  # noqa: E402

LOOPS = (10000, 20000, 40000, 70000, 100000)
#: what each of them is told by
TOLD: dict[str, Point] = {
    contenders.FIBRES: {"program": "locks", "scheduler_said": "pushing", "TENTER_IDLE": "block", "by": "fibre"},
    contenders.SPINNING: {"program": "locks", "scheduler_said": "pushing", "TENTER_IDLE": "spin", "by": "fibre"},
    contenders.SHARED: {"program": "locks", "scheduler_said": "skeleton", "series": "skeleton", "by": "fibre"},
    contenders.PTHREADS: {"program": "locks", "scheduler_said": "pushing", "by": "thread", "design": "pthread"},
    contenders.THREADS: {"program": "locks", "scheduler_said": "pushing", "by": "thread", "design": "block"},
    "Go": {"program": "locks-go", "scheduler_said": None, "series": "go"},
    "Boost.Fiber": {"program": "locks-boost", "scheduler_said": None, "series": "boost.fiber"}}


class Names(unittest.TestCase):
    def test_each(self) -> None:
        frame = pd.DataFrame([{"critical": 1.0, **told} for told in TOLD.values()])
        self.assertEqual(list(contenders.named(frame)["who"]), list(TOLD))
        self.assertEqual(set(TOLD), set(contenders.ALL))
        self.assertEqual(list(contenders.named(frame)["other"]), [1.0] * len(frame))


class Scaling(Case):
    row = "B4.5"
    alike, reasonable, rises = claims.module("B4.5").CLAIMS

    def points(self, of: Callable[[str, int], float], names: tuple[str, ...] = tuple(TOLD), cores: int = 32) -> pd.DataFrame:
        """`of`: how many cores work."""
        out: list[tuple[Point, Metrics]] = []
        for who in names:
            for loop in LOOPS:
                one = 1e9 / (2 * loop)
                for workers, fibres, rate in ((1, 1, one), (32, 1024, one * of(who, loop))):
                    out.append(({**TOLD[who], "critical": loop, "workers": workers, "fibres": fibres, "locks": 32},
                                {"throughput": ("1/s", rate)}))
        return table(self.folder, out, cores=cores)

    @staticmethod
    def source(who: str, loop: int) -> float:
        if who == contenders.SHARED:
            return 4 if loop < 55000 else 24
        return 26

    def test_as_the_source(self) -> None:
        for claim in (self.alike, self.reasonable, self.rises):
            self.verdict(self.points(self.source), claim, HOLDS)

    def test_each_fails(self) -> None:
        def one_behind(who: str, loop: int) -> float:
            return 12 if who == "Go" else self.source(who, loop)
        self.verdict(self.points(one_behind), self.alike, FAILS, "Go at 20 µs")
        self.verdict(self.points(one_behind), self.reasonable, FAILS, "Go at 20 µs")
        level = self.points(lambda who, loop: 26)
        self.verdict(level, self.alike, FAILS, contenders.SHARED)
        self.verdict(level, self.rises, FAILS)
        self.verdict(self.points(lambda who, loop: 4 if who == contenders.SHARED else 26), self.rises, FAILS, "100 µs")

    def test_not_decidable(self) -> None:
        for claim in (self.alike, self.reasonable, self.rises):
            self.verdict(self.points(self.source, cores=2), claim, OPEN, "no point with 32 workers within the cores")
        self.verdict(self.points(self.source, (contenders.FIBRES,)), self.alike, OPEN, "nobody but fibres")
        self.verdict(self.points(self.source, (contenders.FIBRES,)), self.rises, OPEN, "no throughput of shared ready queue")
        frame = self.points(self.source)
        frame.loc[frame["fibres"].eq(1024) & frame["critical"].eq(20000), "fibres"] = 64
        self.verdict(frame, self.alike, OPEN, "mix values of fibres")

    def test_figure(self) -> None:
        self.points(self.source)
        drawn = self.figure("locks_b4_5", 1)
        self.assertEqual(set(drawn["series"]), set(TOLD))
        self.assertAlmostEqual(drawn["median"].max(), 26, delta=0.5)


class Efficiency(Case):
    row = "B4.6"
    near, far = claims.module("B4.6").CLAIMS

    def points(self, blocking: float, spinning: float, cores: int = 32, loop: int = 20000) -> pd.DataFrame:
        return table(self.folder, [({**told, "critical": loop, "workers": n, "fibres": n * n, "locks": n // 4},
                                    {"cpu": ("ns", 2.0 * loop * (spinning if who in (contenders.SPINNING, "Boost.Fiber")
                                                                 else blocking))})
                                   for who, told in TOLD.items() for n in (4, 16, 32)], cores=cores)

    def test_verdicts(self) -> None:
        for blocking, spinning, wanted in ((1.1, 2, (HOLDS, HOLDS)), (1.4, 1.4, (FAILS, FAILS))):
            frame = self.points(blocking, spinning)
            for claim, verdict in zip((self.near, self.far), wanted):
                self.verdict(frame, claim, verdict)
        for claim in (self.near, self.far):
            self.verdict(self.points(1.1, 2, cores=4), claim, OPEN, "no point with 16 to 32 workers")
            self.verdict(self.points(1.1, 2, loop=1000), claim, OPEN, "not of 20 µs")
            self.verdict(self.points(1.25, 1.5), claim, OPEN, "more blocks")

    def test_peers_are_measured(self) -> None:
        """Each names a runtime of its own, and yet is measured beside ours."""
        frame = self.points(1.1, 2)
        frame.loc[frame["program"].eq("locks-go"), "runtime"] = "go"
        self.assertEqual([j.verdict for j in claims.judge("B4.6", frame)], [HOLDS, HOLDS])

    def test_figure(self) -> None:
        self.points(1.1, 2)
        self.assertEqual(set(self.figure("locks_b4_6", 1)["x"]), {4, 16, 32})


class Computed(Case):
    row = "B6.2"
    limit, = claims.module("B6.2").CLAIMS

    def test_reproduced(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(reproduce.main(["B6.2", "--out", str(self.folder / "new")]), 0)
            self.assertEqual(reproduce.main(["B6.2", "--from", str(self.folder / "new")]), 0)
        self.assertEqual(said.getvalue().count("holds: limit 32  (probabilistic 31.88 with 4096 threads"), 2)
        self.assertTrue((self.folder / "new" / "figures" / "locks_b6_3.pdf").exists())
        kept = json.loads((self.folder / "new" / "verdicts.json").read_text(encoding="utf-8"))
        self.assertEqual((kept["mode"], kept["scale"]), ("model", {}))

    def frame(self, far: float, threads: int = 4096) -> pd.DataFrame:
        return pd.DataFrame([{"metric": "utilisation", "locks": 16, "critical": 1e4, "other": 1e4, "series": name,
                              "workers": threads, "value": far} for name in ("probabilistic", "mva")])

    def test_verdicts(self) -> None:
        self.verdict(self.frame(31.9), self.limit, HOLDS)
        for far in (31.0, 32.1):
            self.verdict(self.frame(far), self.limit, FAILS)
        self.verdict(self.frame(31.9, 64), self.limit, OPEN, "no point of probabilistic with 4096 threads")


class Modelled(Case):
    row = "B6.3"
    shape, heights = claims.module("B6.3").CLAIMS

    def points(self, of: Callable[[int, int], float], cores: int = 32, runtime: str = "native",
               ns: tuple[int, ...] = (1, 2, 8, 16, 32)) -> pd.DataFrame:
        return table(self.folder, [({**TOLD[who], "runtime": runtime, "critical": loop, "other": loop, "workers": n, "fibres": n,
                                     "locks": 16}, {"throughput": ("1/s", 5e8 / loop * (of(loop, n) if n > 1 else 1.0))})
                                   for who in (contenders.PTHREADS, contenders.FIBRES)
                                   for loop in (10000, 1000000) for n in ns], cores=cores, noise=0.001)

    @staticmethod
    def model(n: int) -> float:
        loop = locks.Loop(16, 1, 1)
        return locks.utilisation(loop, locks.mva(loop, n).throughput)

    def source(self, loop: int, n: int) -> float:
        return self.model(n) * (13 if loop == 10000 else 22) / self.model(32)

    def test_verdicts(self) -> None:
        self.verdict(self.points(self.source), self.heights, HOLDS)
        self.verdict(self.points(self.source, ns=(1, 16, 24, 28, 32)), self.heights, HOLDS)
        self.verdict(self.points(lambda loop, n: self.model(n)), self.shape, HOLDS, "8 points")
        self.verdict(self.points(lambda loop, n: self.model(n)), self.heights, FAILS)
        flat = self.points(lambda loop, n: min(n, 4.0))
        self.verdict(flat, self.shape, FAILS)
        self.verdict(flat, self.heights, FAILS)

    def test_not_decidable(self) -> None:
        for claim in (self.shape, self.heights):
            self.verdict(self.points(self.source, cores=2), claim, OPEN, "no point with 32 threads")
        self.verdict(self.points(self.source, ns=(1, 16, 32)), self.shape, OPEN, "fewer than 4 points")
        self.verdict(self.points(self.source, ns=(16, 32)), self.heights, OPEN)

    def test_one_picture(self) -> None:
        """What is simulated lies inside what was measured; both models are in it too."""
        outer = self.folder
        self.points(self.source, cores=2, ns=(1, 2))
        self.folder = outer / "sim"
        self.folder.mkdir()
        self.points(self.source, runtime="simulate")
        drawn = self.figure("locks_b6_3", 1)
        self.assertEqual(set(drawn["series"]), {"probabilistic", "mva", *(
            f"{who}{how}, {loop}" for who in ("pthreads", "fibres") for how in ("", ", simulated") for loop in ("10 µs", "1 ms"))})
        self.assertEqual(drawn.loc[drawn["series"].eq("pthreads, 10 µs"), "x"].tolist(), [1, 2])


if __name__ == "__main__":
    unittest.main()
