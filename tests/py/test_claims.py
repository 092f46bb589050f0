# SPDX-License-Identifier: MIT
"""Every claim of every available row, on synthetic tables that must give each verdict."""
from __future__ import annotations

import contextlib
import io
import json
import random
import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable
from unittest import mock

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from experiments.runner import claims, figures, report, reproduce, tidy  # noqa: E402
from experiments.runner import run as runner_run  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from experiments.runner.errors import Stop  # noqa: E402

SOURCE = [5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 115]
HERE = [1, 2]
#: two points of the source's range, and a machine that has the cores
SOME: dict[str, Any] = {"workers": [5, 10], "cores": 16}
Value = Callable[[str, int], float]

# -- curves of the shape that the source describes, and ones that are not -------------------------


def as_source(series: str, w: int) -> float:
    """Rises to 20; lifo declines slowly, then fast; fifo is flat with its maximum at 80."""
    if w <= 20:
        return (1.5e6 if series == "lifo" else 1.3e6) * w / 20
    if series == "lifo":
        return 1.5e6 * (1 - 0.002 * (min(w, 80) - 20)) * (1 - 0.008 * max(0, w - 80))
    return 1.3e6 * (1 + 0.002 * (min(w, 80) - 20)) * (1 - 0.015 * max(0, w - 80))


def scales_on(_series: str, w: int) -> float:
    return 3e5 * w / 5


def flat_start(_series: str, w: int) -> float:
    return 1e6 * (1.0 - 0.001 * w)


def lifo_slows_evenly(series: str, w: int) -> float:
    return as_source(series, w) if w <= 80 else as_source(series, 80) * (1 - 0.0005 * (w - 80))


def fifo_bumpy(series: str, w: int) -> float:
    return as_source(series, w) * (0.5 if 35 <= w <= 60 else 1.0)


def lifo_twice(series: str, w: int) -> float:
    return as_source("fifo", w) * (2.0 if series == "lifo" else 1.0)


def latency_as_source(series: str, w: int) -> float:
    gap = 1.6 if series == "fifo" and w < 20 else 1.05
    return 4e5 * gap / min(w, 20)


def latency_apart(series: str, w: int) -> float:
    return 4e5 * (3.0 if series == "lifo" else 1.0) / min(w, 20)


def retries_as_source(_series: str, w: int) -> float:
    return max(0.0, 4e4 * (1 - w / 45))


def retries_stay(_series: str, _w: int) -> float:
    return 500.0


def table(folder: Path, workers: list[int] | None = None, throughput: Value = as_source,
          latency: Value = latency_as_source, retries: Value = retries_as_source, blocks: int = 8,
          noise: float = 0.01, cores: int = 128, **more: Any) -> pd.DataFrame:
    """A tidy.csv with one sample an invocation, written and read back."""
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for w in SOURCE if workers is None else workers:
            for series in ("fifo", "lifo"):
                rng = random.Random(f"{series} {w} {block}")
                base = {"cell": f"{series}{w}", "block": block, "order": len(rows),
                        "invocation": len(rows), "warmup": False, "status": "ok",
                        "superseded": False, "workers": w, "scheduler": series,
                        "program": "packet", "series": series, "scheduler_said": series,
                        "runtime": "native", "binary_id": "b", "cores": cores,
                        "oversubscribed": w > cores, **more}
                rate = throughput(series, w) * (1 + rng.gauss(0, noise))
                values = {"throughput": ("1/s", rate), "time": ("s", 5e4 / rate),
                          "retries": ("1", float(int(retries(series, w)))),
                          "counter_steal_hit": ("1", 9.0 if series == "fifo" else 90.0)}
                for name, factor in (("p50", 1.0), ("p99", 8.0), ("p99_99", 30.0)):
                    values[f"latency_{name}_ns"] = (
                        "ns", latency(series, w) * factor * (1 + rng.gauss(0, noise)))
                rows += [{**base, "rep": "1", "metric": m, "unit": u, "value": v}
                         for m, (u, v) in values.items()]
    path = folder / "tidy.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return tidy.load(path)


#: claim -> settings under which it holds, and under which it does not
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "steep rise of the throughput up to 20 workers": ({}, {"throughput": flat_start}),
    "lifo's maximum near 20": ({}, {"throughput": scales_on}),
    "lifo degrades after 20": ({}, {"throughput": scales_on}),
    "lifo degrades faster past 80": ({}, {"throughput": lifo_slows_evenly}),
    "fifo's maximum near 80": ({}, {"throughput": flat_start}),
    "fifo flat from 20 to 80": ({}, {"throughput": fifo_bumpy}),
    "fifo drops after 80": ({}, {"throughput": scales_on}),
    "latencies of fifo and lifo converge after 20": ({}, {"latency": latency_apart}),
    "median of the spawner's retries is 0 beyond 45": ({}, {"retries": retries_stay}),
    "fifo ≈ lifo throughout": ({"throughput": scales_on}, {"throughput": lifo_twice}),
}


class M71(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def one(self, claim: str, **settings: Any) -> claims.Judged:
        predicate = claims.module("M7.1").CLAIMS[claim]
        return claims.judge_one(claim, predicate, table(self.folder, **settings))

    def verdicts(self, **settings: Any) -> dict[str, claims.Judged]:
        return {j.claim: j for j in claims.judge("M7.1", table(self.folder, **settings))}

    def test_each_claim_has_its_cases(self) -> None:
        self.assertEqual(list(CASES), list(claims.module("M7.1").CLAIMS))

    def test_holds(self) -> None:
        for claim, (good, _bad) in CASES.items():
            with self.subTest(claim):
                found = self.one(claim, **good)
                self.assertEqual(found.verdict, HOLDS, found.why)
                self.assertTrue(found.judged_by)

    def test_does_not_hold(self) -> None:
        for claim, (_good, bad) in CASES.items():
            with self.subTest(claim):
                found = self.one(claim, **bad)
                self.assertEqual(found.verdict, FAILS, found.why)
                self.assertTrue(found.judged_by)

    def test_settings_of_one_scheduler_are_not_mixed(self) -> None:
        frame = table(self.folder, cores=128)
        some = frame["series"].eq("fifo") & frame["block"].eq(0)
        frame.loc[some, "series"] = "fifo:private=0"
        claim = "fifo ≈ lifo throughout"
        found = claims.judge_one(claim, claims.module("M7.1").CLAIMS[claim], frame)
        self.assertIn("mix settings of fifo", found.why)

    def test_not_decidable_on_two_cores_names_what_is_missing(self) -> None:
        found = self.verdicts(workers=[1, 2, 4, 8, 20, 80, 115], cores=2)
        for claim, judged in found.items():
            with self.subTest(claim):
                self.assertEqual(judged.verdict, OPEN, judged.why)
                self.assertEqual(judged.why, "no point within the cores lies in the source's own "
                                 "range, workers 4 to 120, only 1, 2")

    def test_no_point_outside_the_source_s_range_decides(self) -> None:
        """However far apart fifo and lifo are where the source measured nothing."""
        for cores, judged_at in ((2, None), (128, "5, 10, 15")):
            found = self.one("fifo ≈ lifo throughout", workers=[*HERE, *SOURCE, 200], cores=cores,
                             throughput=lambda s, w: 2e6 if s == "lifo" and w in (*HERE, 200)
                             else 1e6)
            self.assertEqual(found.verdict, OPEN if judged_at is None else HOLDS, found.why)
            self.assertIn(judged_at or "the source's own range", found.why)

    def test_part_of_the_range_can_refute_throughout_and_not_hold_it(self) -> None:
        for throughput, verdict, why in (
                (lifo_twice, FAILS, "judged at workers 5, 10,"),
                (scales_on, OPEN, "no point at workers 18 to 22, 75 to 85, 100 to 120")):
            found = self.one("fifo ≈ lifo throughout", throughput=throughput, **SOME)
            self.assertEqual(found.verdict, verdict, found.why)
            self.assertIn(why, found.why)

    def test_not_decidable_within_the_range_names_what_is_missing(self) -> None:
        for claim, judged in self.verdicts(**SOME).items():
            with self.subTest(claim):
                self.assertEqual(judged.verdict, OPEN, judged.why)
                self.assertRegex(judged.why, r"(22|45|85|120)")
                self.assertRegex(judged.why, "within the cores")

    def test_not_decidable_with_too_few_blocks(self) -> None:
        for blocks in (2, 5):
            for claim, found in self.verdicts(blocks=blocks, workers=SOURCE).items():
                with self.subTest(f"{blocks} {claim}"):
                    self.assertEqual(found.verdict, OPEN, found.why)
                    self.assertIn("fewer than 6 blocks: ", found.why)
                    self.assertEqual(found.why.count("fewer than 6 blocks"), 1, found.why)

    def test_six_blocks_that_all_agree_decide(self) -> None:
        settings: dict[str, Any] = {**SOME, "noise": 0.0, "throughput": lifo_twice}
        for blocks, verdict in ((5, OPEN), (6, FAILS)):
            found = self.one("fifo ≈ lifo throughout", blocks=blocks, **settings)
            self.assertEqual(found.verdict, verdict, found.why)

    def test_not_decidable_where_the_interval_holds_the_threshold(self) -> None:
        found = self.one("fifo ≈ lifo throughout", noise=0.01, **SOME,
                         throughput=lambda s, w: 1e6 * (1.25 if s == "lifo" else 1.0))
        self.assertEqual(found.verdict, OPEN)

    def test_alike_fails_and_looks_one_level_deeper(self) -> None:
        judged = self.one("fifo ≈ lifo throughout", throughput=lifo_twice, **SOME)
        self.assertEqual(judged.verdict, FAILS)
        self.assertIn("steal_hit 9.00 against 90.0", judged.why)

    def test_alike_without_tail_percentiles(self) -> None:
        frame = table(self.folder, throughput=scales_on)
        frame = frame[~frame["metric"].isin(["latency_p99_ns", "latency_p99_99_ns"])]
        found = {j.claim: j for j in claims.judge("M7.1", frame)}["fifo ≈ lifo throughout"]
        self.assertEqual(found.verdict, OPEN)
        self.assertIn("latency_p99_ns", found.why)

    def test_mixed_conditions_are_refused(self) -> None:
        one, two = (table(self.folder, workers=HERE, cores=2, packets=n) for n in (1000, 50_000))
        for judged in claims.judge("M7.1", pd.concat([one, two])):
            self.assertEqual(judged.verdict, OPEN)
            self.assertIn("mix values of packets", judged.why)

    def test_no_data_is_not_decidable(self) -> None:
        frame = table(self.folder, workers=HERE, cores=2)
        frame["status"] = "failed"
        for judged in claims.judge("M7.1", frame):
            self.assertEqual((judged.verdict, judged.why), (OPEN, "no usable row of packet"))


# -- M4.5: blocking calls --------------------------------------------------------------------------

#: (way, microseconds) -> steps of the others a second, and seconds until all calls have returned
Ways = dict[tuple[str, int], tuple[float, float]]
EXPECTED: Ways = {
    ("none", 0): (50e3, 0.02), ("annotated", 0): (60e3, 0.04), ("monitor", 0): (50e3, 0.02),
    ("none", 100): (20e3, 0.05), ("annotated", 100): (100e3, 0.10), ("monitor", 100): (21e3, 0.05),
    ("none", 1000): (4e3, 0.3), ("annotated", 1000): (140e3, 0.16), ("monitor", 1000): (80e3, 0.1),
}


def ways_table(folder: Path, blocks: int = 8, cores: int = 2, **other: Any) -> pd.DataFrame:
    """A tidy.csv of the blocking workload; `other` overrides points: none_1000=(steps, seconds)."""
    rows: list[dict[str, Any]] = []
    for block in range(blocks):
        for (way, length), value in EXPECTED.items():
            steps, seconds = other.get(f"{way}_{length}", value)
            rng = random.Random(f"{way} {length} {block}")
            base = {"cell": f"{way}{length}", "block": block, "sleep": length, "way": way,
                    "order": len(rows), "invocation": len(rows), "warmup": False, "status": "ok",
                    "superseded": False, "workers": 2, "program": "blocking", "series": "fifo",
                    "scheduler_said": "fifo", "runtime": "native", "binary_id": "b",
                    "cores": cores, "oversubscribed": cores < 2, "rep": "1"}
            for metric, unit, v in (("throughput", "1/s", steps), ("time", "s", seconds)):
                rows.append({**base, "metric": metric, "unit": unit,
                             "value": v * (1 + rng.gauss(0, 0.01))})
    path = folder / "tidy.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return tidy.load(path)


#: claim -> points under which it does not hold; under EXPECTED each holds
WAYS: dict[str, dict[str, tuple[float, float]]] = {
    "calls that block stop the other fibres where nothing is done about them":
        {"none_1000": (130e3, 0.1)},
    "the monitor keeps the others running, without annotations": {"monitor_1000": (4.1e3, 0.3)},
    "annotated calls leave more to the others than the monitor does":
        {"monitor_1000": (190e3, 0.1)},
    "the monitor is no help against calls shorter than its period": {"monitor_100": (90e3, 0.05)},
    "a call that hardly blocks costs more where it is annotated": {"annotated_0": (60e3, 0.015)},
}


class M45(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def verdicts(self, **settings: Any) -> dict[str, claims.Judged]:
        return {j.claim: j for j in claims.judge("M4.5", ways_table(self.folder, **settings))}

    def test_holds_and_does_not(self) -> None:
        self.assertEqual(list(WAYS), list(claims.module("M4.5").CLAIMS))
        for claim, judged in self.verdicts().items():
            with self.subTest(claim):
                self.assertEqual(judged.verdict, HOLDS, judged.why)
                bad = claims.judge_one(claim, claims.module("M4.5").CLAIMS[claim],
                                       ways_table(self.folder, **WAYS[claim]))
                self.assertEqual(bad.verdict, FAILS, bad.why)

    def test_not_decidable(self) -> None:
        for settings, why in (({"blocks": 5}, "fewer than 6 blocks"),
                              ({"cores": 1}, "more workers than cores")):
            for claim, judged in self.verdicts(**settings).items():
                with self.subTest(claim):
                    self.assertEqual(judged.verdict, OPEN)
                    self.assertIn(why, judged.why)
        frame = ways_table(self.folder)
        for judged in claims.judge("M4.5", frame[frame["way"] != "monitor"]):
            if "monitor" in judged.claim:
                self.assertEqual(judged.verdict, OPEN)
                self.assertIn("no throughput of way=monitor", judged.why)

    def test_the_figure_has_a_curve_a_way(self) -> None:
        ways_table(self.folder)
        provenance = {"factors": ["sleep", "way"], "cores": 2}
        (self.folder / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
        drawn = figures.draw("blocking_ways", self.folder / "tidy.csv")
        self.assertIsNone(drawn.problem)
        said = pd.read_csv(self.folder / "figures/blocking_ways.table.csv", comment="#")
        self.assertEqual(set(said["series"]),
                         {f"fifo, way {w}" for w in ("none", "annotated", "monitor")})
        self.assertEqual(set(said["metric"]), {"throughput", "time"})

    def test_the_printed_table_tells_the_ways_apart(self) -> None:
        lines = reproduce.table_of(ways_table(self.folder), "sleep")
        self.assertEqual(len(lines), 1 + 9)
        self.assertEqual({line[1] for line in lines[1:]},
                         {f"fifo, way {w}" for w in ("none", "annotated", "monitor")})


class Command(unittest.TestCase):
    def test_list_says_which_works_the_letters_are(self) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(reproduce.main(["--list"]), 0)
        rows = said.getvalue().splitlines()
        b42 = next(line for line in rows if line.startswith("B4.2 "))
        self.assertRegex(b42, "yes +web server, 4096 connections")
        self.assertRegex(next(line for line in rows if line.startswith("A7.3 ")), "no .*needs core-aware threads")
        last = rows[-1]
        for word in ("M Modelski", "B Barghi", "A Qin", "E Gaud", "H Morrison", "docs/sources.md"):
            self.assertIn(word, last)

    def test_quick_draws_the_row_s_own_figure_once(self) -> None:
        row = reproduce.find("M7.1")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "run"

            def measure(argv: list[str], figures: Any, reproduces: Any) -> runner_run.Outcome:
                if argv[0] == "packet-sim":
                    return runner_run.Outcome(0, Path(argv[2]))     # nothing was simulated
                self.assertEqual((reproduces.row, reproduces.command), (
                    "M7.1", f"./tenter reproduce M7.1 --quick --out {folder}"))
                synthetic.write(folder, synthetic.run(HERE, as_source, blocks=5))
                (folder / "run.json").write_text('{"quick": true}', encoding="utf-8")
                report.make(folder, "x", figures)
                return runner_run.Outcome(0, folder)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), mock.patch.object(runner_run, "run", measure), \
                    mock.patch.object(figures, "draw", wraps=figures.draw) as draw:
                self.assertEqual(reproduce.main(["M7.1", "--quick", "--out", str(folder)]), 3)
            self.assertEqual([c.args[0] for c in draw.call_args_list], ["packet_m7_1"])
            self.assertEqual(sorted(p.name for p in (folder / "figures").glob("*.pdf")),
                             ["packet_m7_1.pdf"])
        self.assertEqual(reproduce.figures_of(row, False), row["figures"])
        self.assertIn("† n<6: covers less than 95 %", said.getvalue())
        self.assertIn("packet_m7_1.pdf", said.getvalue())
        self.assertRegex(said.getvalue(), r"\nquick: [a-z0-9]")      # what it has less of than the row
        self.assertIn("not decidable here: fifo ≈ lifo throughout", said.getvalue())


class Rows(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = claims.rows()

    def test_well_formed(self) -> None:
        ids = [r["id"] for r in self.rows]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({r["work"] for r in self.rows}, set("MBAEHT"))
        for row in self.rows:
            self.assertIn(row["kind"], ("claim", "hypothesis"))
            self.assertTrue(row["source"] and row["workload"] and row["mode"])
            self.assertIsInstance(row["claims"], list)
            self.assertTrue(row["available"] or row["needs"], row["id"])

    def test_available_rows_have_all_that_they_need(self) -> None:
        for row in self.rows:
            if row["available"]:
                self.assertEqual(row["claims"], list(claims.module(row["id"]).CLAIMS))
                halves = [row[key] for key in ("matrix", "sim") if key in row]
                self.assertEqual(bool(halves), "model" not in row, row["id"])
                self.assertEqual("model" in row, row["mode"] == "model", row["id"])
                self.assertEqual("sim" in row, "sim" in row["mode"], row["id"])
                for matrix in halves:
                    self.assertTrue((ROOT / "experiments/matrices" / f"{matrix}.yaml").exists())
                for figure in row["figures"]:
                    self.assertTrue((ROOT / "plots" / f"{figure}.py").exists(), figure)

    def test_unknown_names_the_nearest(self) -> None:
        with self.assertRaisesRegex(Stop, r"unknown row 'M71' \(nearest: M7\.1"):
            reproduce.find("M71")
        self.assertEqual(reproduce.find("m7.1")["id"], "M7.1")

    def test_not_available_says_what_is_missing(self) -> None:
        row = next(row for row in claims.rows() if not row["available"])
        wanted = f"{row['id']} is not available yet: it needs {row['needs'][0]}"
        with self.assertRaisesRegex(Stop, re.escape(wanted)) as caught:
            reproduce.main([row["id"]])
        self.assertEqual(caught.exception.code, 77)


if __name__ == "__main__":
    unittest.main()
