# SPDX-License-Identifier: MIT
"""The claims of H7 and its figure, on synthetic tables that must give each verdict."""
from __future__ import annotations

import importlib
import tempfile
import unittest
from pathlib import Path
from typing import Any

from test_claims_timing import Metrics, Point, table

import style
from experiments.runner import claims
from experiments.runner.claims import FAILS, HOLDS, OPEN

COSTLY, FREE, SHAPES = claims.module("H7").CLAIMS


def points(full: float = 30.0, compiler: float = 12.2, p50: float = 4e6, p99: float = 9e6
           ) -> list[tuple[Point, Metrics]]:
    """A flag by its barrier; requests never preempted, and preempted."""
    flag: tuple[Point, Metrics] = ({"program": "flag"}, {
        "flag_none": 12.0, "flag_compiler": compiler, "flag_full": full})
    mixed: list[tuple[Point, Metrics]] = [
        ({"program": "mixed", "TENTER_PREEMPT_US": period},
         {"latency_p50_ns": half, "latency_p90_ns": 1.5 * half, "latency_p99_ns": tail,
          "throughput": 150.0})
        for period, half, tail in ((0, p50, p99), (500, 1e6, 2e6))]
    return [flag, *mixed]


class H7(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def judged(self, **other: Any) -> dict[str, claims.Judged]:
        blocks = other.pop("blocks", 8)
        return {j.claim: j for j in claims.judge("H7", table(self.folder, points(**other), blocks))}

    def verdicts(self, wanted: dict[str, str], **other: Any) -> None:
        for claim, found in self.judged(**other).items():
            if claim in wanted:
                with self.subTest(claim):
                    self.assertEqual(found.verdict, wanted[claim], found.why)

    def test_each_verdict(self) -> None:
        self.verdicts({COSTLY: HOLDS, FREE: HOLDS, SHAPES: HOLDS})
        self.verdicts({COSTLY: FAILS}, full=13.0)
        self.verdicts({COSTLY: OPEN}, full=1.2 * 12.2)
        self.verdicts({FREE: FAILS}, compiler=20.0)
        self.verdicts({FREE: HOLDS}, compiler=9.0)
        self.verdicts({FREE: OPEN}, compiler=1.1 * 12.0)
        self.verdicts({SHAPES: FAILS}, p50=1e6, p99=2.1e6)
        self.verdicts({SHAPES: HOLDS}, p50=1e6)                    # the tail alone differs
        self.verdicts({SHAPES: OPEN}, p50=1e6, p99=1.5 * 2e6)

    def test_too_little(self) -> None:
        self.verdicts(dict.fromkeys((COSTLY, FREE, SHAPES), OPEN), blocks=3)
        only_flag = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[:1]))}
        self.assertEqual(only_flag[SHAPES].verdict, OPEN)
        self.assertIn("no usable row of mixed", only_flag[SHAPES].why)
        never = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[:2]))}
        self.assertEqual(never[SHAPES].verdict, OPEN)
        self.assertIn("no percentile", never[SHAPES].why)
        only_mixed = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[1:]))}
        self.assertEqual({only_mixed[c].verdict for c in (COSTLY, FREE)}, {OPEN})

    def test_figure(self) -> None:
        table(self.folder, points())
        module = importlib.import_module("preemption_h7")
        path = str(self.folder / "tidy.csv")
        self.assertEqual(style.script("preemption_h7", module.draw, ["preemption_h7", path]), 0)
        self.assertTrue((self.folder / "figures" / "preemption_h7.pdf").exists())


if __name__ == "__main__":
    unittest.main()
