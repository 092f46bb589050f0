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


def points(full: float = 30.0, compiler: float = 12.2, p50: float = 4e6, p99: float = 9e6,
           web99: float = 8e6) -> list[tuple[Point, Metrics]]:
    """A flag by its barrier; requests never preempted, and preempted."""
    flag: tuple[Point, Metrics] = ({"program": "flag"}, {
        "flag_none": 12.0, "flag_compiler": compiler, "flag_full": full})
    mixed: list[tuple[Point, Metrics]] = [
        ({"program": "mixed", "TENTER_PREEMPT_US": period},
         {"latency_p50_ns": half, "latency_p90_ns": 1.5 * half, "latency_p99_ns": tail,
          "throughput": 150.0})
        for period, half, tail in ((0, p50, p99), (500, 1e6, 2e6))]
    web: list[tuple[Point, Metrics]] = [
        ({"program": "loadgen", "server": server, "TENTER_PREEMPT_US": period},
         {"latency_p50_ns": 1e5, "latency_p90_ns": 3e5, "latency_p99_ns": tail, "throughput": 4e3})
        for server, period, tail in (("httpd --work 1", 0, web99), ("httpd --work 1", 500, 1e6), ("httpd-event --work 1", None, 8e6),
                                     ("httpd-pthread --work 1", None, 2e6))]
    return [flag, *mixed, *web]


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
        self.verdicts({SHAPES: FAILS}, web99=1.1e6)                # the server's alone do not
        self.verdicts({SHAPES: OPEN}, web99=1.51e6)

    def test_too_little(self) -> None:
        self.verdicts(dict.fromkeys((COSTLY, FREE, SHAPES), OPEN), blocks=3)
        only_flag = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[:1]))}
        self.assertEqual(only_flag[SHAPES].verdict, OPEN)
        self.assertIn("no usable row of mixed", only_flag[SHAPES].why)
        no_server = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[:3]))}
        self.assertEqual(no_server[SHAPES].verdict, OPEN)
        self.assertIn("no usable row of loadgen", no_server[SHAPES].why)
        never = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[:2]))}
        self.assertEqual(never[SHAPES].verdict, OPEN)
        self.assertIn("no percentile", never[SHAPES].why)
        only_mixed = {j.claim: j for j in claims.judge("H7", table(self.folder, points()[1:]))}
        self.assertEqual({only_mixed[c].verdict for c in (COSTLY, FREE)}, {OPEN})

    def test_figure(self) -> None:
        table(self.folder, points())
        path = str(self.folder / "tidy.csv")
        for name in ("preemption_h7", "preemption_web_h7"):
            module = importlib.import_module(name)
            self.assertEqual(style.script(name, module.draw, [name, path]), 0)
            self.assertTrue((self.folder / "figures" / f"{name}.pdf").exists())


if __name__ == "__main__":
    unittest.main()
