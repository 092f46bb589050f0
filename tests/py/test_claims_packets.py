# SPDX-License-Identifier: MIT
"""Rows M7.2 to M7.7 and A2.4 on synthetic tables, and what rows of two halves share."""
from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable
from unittest import mock


ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from experiments.runner import claims, points, reproduce, tidy  # noqa: E402
from experiments.runner import run as runner_run  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402
from test_claims_rows import Case, Metrics, Point, table  # noqa: E402

WORKERS = (5, 20, 30, 40, 60, 80, 100, 115)
Value = Callable[[str, int], float]


def flat(_series: str, _w: int) -> float:
    return 1e6


def drops(_series: str, w: int) -> float:
    return 1e6 if w <= 80 else 6e5


def rises(_series: str, w: int) -> float:
    return 1e4 * w


def at_points(throughput: Value = flat, tries: Value = lambda s, w: 1e3 * min(w, 80),
              hits: Value = lambda s, w: (50.0 if s == "fifo" else 100.0),
              stalls: Value = lambda s, w: (w / 25 if s == "fifo" else w / 100),
              runtime: str = "simulate", **more: Any) -> list[tuple[Point, Metrics]]:
    """As the source has figures 7.2 and 7.3, unless told otherwise."""
    out: list[tuple[Point, Metrics]] = []
    for series in ("fifo", "lifo"):
        for w in WORKERS:
            out.append(({"program": "packet", "workers": w, "scheduler": f"{series}:private=0",
                         "series": f"{series} (simulated)", "scheduler_said": series,
                         "runtime": runtime, **more},
                        {"throughput": ("1/s", throughput(series, w)),
                         "counter_steal_try": ("1", tries(series, w)),
                         "counter_steal_hit": ("1", hits(series, w)),
                         "sim_stalls_per_instruction": ("1", stalls(series, w)),
                         "sim_stall_ns": ("ns", 1e6),
                         "sim_wait struct tn_spinlock.held": ("ns", 7e5)}))
    return out


class Packets(Case):
    def on(self, row: str, rows: list[tuple[Point, Metrics]], wanted: dict[str, str], words: str = "",
           cores: int = 128) -> None:
        self.row = row
        frame = table(self.folder, rows, cores=cores)
        for claim, verdict in wanted.items():
            self.verdict(frame, claim, verdict, words)

    def test_m72(self) -> None:
        stop, falls = claims.module("M7.2").CLAIMS
        self.on("M7.2", at_points(), {stop: HOLDS, falls: HOLDS})
        self.on("M7.2", at_points(tries=lambda s, w: 1e3 * w), {stop: FAILS},
                "cycles an instruction (70% of it for struct tn_spinlock.held), and 0.09% of 11")
        self.on("M7.2", at_points(hits=lambda s, w: float(w * w)), {falls: FAILS})

    def test_m73(self) -> None:
        beyond, subtle, lose = claims.module("M7.3").CLAIMS
        self.on("M7.3", at_points(), {beyond: HOLDS, subtle: HOLDS, lose: HOLDS})
        self.on("M7.3", at_points(stalls=lambda s, w: w / 100, hits=lambda s, w: 9.0 + (s == "fifo")),
                {beyond: FAILS, subtle: FAILS, lose: FAILS})

    def test_m74(self) -> None:
        claim, = claims.module("M7.4").CLAIMS
        few = at_points(packets=3000)
        self.on("M7.4", few + at_points(lambda s, w: 8e5, packets=30000), {claim: HOLDS})
        self.on("M7.4", few + at_points(lambda s, w: 2e6, packets=30000), {claim: FAILS})
        self.on("M7.4", few + at_points(lambda s, w: 0.5 * drops(s, w), packets=30000), {claim: FAILS})
        self.on("M7.4", few, {claim: OPEN}, "two numbers of packets")

    def test_m75(self) -> None:
        claim, = claims.module("M7.5").CLAIMS
        self.on("M7.5", at_points(), {claim: HOLDS})
        self.on("M7.5", at_points(drops), {claim: FAILS}, "the cores wait")
        native = [(p, m) for p, m in at_points(runtime="native") if p["workers"] > 2]
        self.on("M7.5", native, {claim: OPEN}, "more workers than cores", cores=2)

    def test_m76(self) -> None:
        claim, = claims.module("M7.6").CLAIMS
        one = at_points(spawners=1, throughput=lambda s, w: 1e5)
        self.on("M7.6", one + at_points(rises, spawners=4), {claim: HOLDS})
        self.on("M7.6", one + at_points(drops, spawners=4), {claim: FAILS})
        self.on("M7.6", one, {claim: OPEN}, "no point at spawners 4")

    def test_m77(self) -> None:
        claim, = claims.module("M7.7").CLAIMS

        def near(gain: Value) -> list[tuple[Point, Metrics]]:
            out = []
            for n in (15, 20):
                for p, m in at_points(gain):
                    name = p["scheduler_said"]
                    out.append(({**p, "scheduler": f"{name}:private=0:victims=nearest:nearest={n}",
                                 "series": f"{name}:nearest={n}"}, m))
            return out
        self.on("M7.7", at_points() + near(lambda s, w: 1e6 + 1e4 * w), {claim: HOLDS})
        self.on("M7.7", at_points() + near(lambda s, w: 2e6 - 1e4 * w), {claim: FAILS})
        self.on("M7.7", at_points(), {claim: OPEN}, "no point at scheduler fifo:private=0:victims")

    def test_a_run_is_never_judged_with_both_kinds_of_rows(self) -> None:
        mixed = at_points() + at_points(runtime="native")
        for row in ("M7.1", "M7.2", "M7.5"):
            claim = list(claims.module(row).CLAIMS)[0]
            self.on(row, mixed, {claim: OPEN}, "the data mix native and simulate rows")

    def test_what_failed_is_of_no_kind(self) -> None:
        failed = [({**p, "status": "failed", "superseded": True}, m) for p, m in at_points(runtime="native")]
        self.on("M7.5", at_points() + failed, {list(claims.module("M7.5").CLAIMS)[0]: HOLDS})

    def test_m71_says_of_simulated_rows_why(self) -> None:
        claim = "fifo flat from 20 to 80"
        self.on("M7.1", at_points(lambda s, w: 1e7 / w), {claim: FAILS},
                "at fifo, workers 80 the cores wait 3.2 cycles an instruction (70% of it for")
        frame = table(self.folder, at_points(lambda s, w: 1e7 / w, runtime="native"), cores=128)
        self.row = "M7.1"
        self.assertNotIn("cores wait", self.judge(frame)[claim].why)

    def test_a_size_that_differs_at_one_point_is_told_and_not_judged_by(self) -> None:
        rows = at_points(packets=10000)
        rows += [(p, {m: (u, 2 * v) for m, (u, v) in metrics.items()})
                 for p, metrics in at_points(packets=50000) if p["workers"] == 80
                 and p["scheduler_said"] == "fifo"]
        frame = table(self.folder, rows, cores=128)
        same, said = points.of_one_size(frame, "packets")
        self.assertEqual(set(same["packets"]), {10000})
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"throughput with packets 50000 over that with 10000, .*workers 80.*: (1\.9|2)")
        self.assertEqual(points.of_one_size(frame, None)[1], [])

    def test_a_row_that_compares_two_sizes_keeps_both(self) -> None:
        rows = at_points(packets=1500) + at_points(packets=15000)
        rows += [(p, {m: (u, 2 * v) for m, (u, v) in metrics.items()})
                 for p, metrics in at_points(packets=60000) if p["workers"] == 80
                 and p["scheduler_said"] == "fifo"]
        both, said = points.of_one_size(table(self.folder, rows, cores=128), "packets", 2)
        self.assertEqual(set(both["packets"]), {1500, 15000})
        self.assertEqual(len(said), 1)
        self.assertIn("throughput with packets 60000 over that with 15000, ", said[0])

    def test_figures(self) -> None:
        table(self.folder, at_points(), cores=128)
        drawn = self.figure("packet_account", 4)
        self.assertEqual(set(drawn["series"]), {"fifo (simulated)", "lifo (simulated)"})


class Lines(Case):
    row = "A2.4"

    def points(self, times: Callable[[int], float]) -> list[tuple[Point, Metrics]]:
        layers = claims.module("A2.4").THRESHOLDS["layers"]
        return [({"program": "lines", "to": to, "TENTER_MACHINE": machine, "runtime": "simulate"},
                 {"line": ("ns", times(i))}) for machine, processors in layers.items()
                for i, to in enumerate(processors)]

    def test_verdicts(self) -> None:
        claim, = claims.module("A2.4").CLAIMS
        self.verdict(table(self.folder, self.points(lambda i: 20.0 * 2 ** i), cores=128), claim, HOLDS)
        self.assertEqual(len(set(self.figure("lines_a2_4", 1)["series"])), 5)
        self.verdict(table(self.folder, self.points(lambda i: 20.0 * 4 ** i), cores=128), claim, FAILS)
        here: list[tuple[Point, Metrics]] = [({"program": "lines", "to": 1}, {"line": ("ns", 300.0)})]
        self.verdict(table(self.folder, here), claim, OPEN, "here are 1 pairs of processors")


class Halves(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "run"

    def rows(self, sim: bool) -> list[dict[str, Any]]:
        rows = synthetic.run([1, 2] if not sim else [5, 20], lambda s, w: 1e6, n=2000)
        for row in rows if sim else []:
            row["binary"]["runtime"] = "simulate"
            row["sim"] = {"machine": "m", "cores": 128, "instructions": 10, "stall_ns": 60,
                          "stalls_per_instruction": 2.0,
                          "lines": [{"line": "byte 0 of x", "field": "struct a.b", "stall_ns": 40},
                                    {"line": "byte 9 of x", "field": "struct a.b", "stall_ns": 10},
                                    {"line": "the lock", "field": None, "stall_ns": 5}]}
        return rows

    def test_what_was_measured_and_what_was_simulated_are_judged_apart(self) -> None:
        asked = []

        def measure(argv: list[str], figures: Any, reproduces: Any) -> runner_run.Outcome:
            asked.append(argv[:3])
            synthetic.write(Path(argv[2]), self.rows(argv[0] == "packet-work-sim"))
            return runner_run.Outcome(0, Path(argv[2]))
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch.object(runner_run, "run", measure):
            self.assertEqual(reproduce.main(["M7.5", "--quick", "--out", str(self.folder)]), 0)
        self.assertEqual(asked, [["packet-work", "--out", str(self.folder)],
                                 ["packet-work-sim", "--out", str(self.folder / "sim")]])
        text = said.getvalue()
        self.assertEqual(text.count("M7.5, fig 7.5"), 2)
        self.assertEqual(text.count("simulated, not measured: m (simulated), 128 cores"), 1)
        for folder, mode in ((self.folder, "native"), (self.folder / "sim", "sim")):
            with self.subTest(mode), contextlib.redirect_stdout(io.StringIO()) as out:
                reproduce.main(["M7.5", "--from", str(folder), "--json"])
                self.assertIn(f'"mode": "{mode}"', out.getvalue())
        frame = tidy.load(self.folder / "sim")
        waits = frame[frame["metric"].eq("sim_wait struct a.b")]
        self.assertEqual(set(waits["value"]), {50})
        self.assertEqual(set(frame["cores"]), {128})
        self.assertFalse(frame["oversubscribed"].any())

    def test_from_a_folder_without_rows(self) -> None:
        with self.assertRaisesRegex(Stop, "no rows.jsonl there"):
            reproduce.main(["M7.5", "--from", str(self.folder)])

    def test_a_row_with_one_half_has_no_folder_inside(self) -> None:
        args = reproduce.parser().parse(["M7.7", "--out", str(self.folder)])
        self.assertEqual(reproduce._halves(reproduce.find("M7.7"), args),
                         [("packet-nearest-sim", self.folder)])


if __name__ == "__main__":
    unittest.main()
