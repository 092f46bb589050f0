# SPDX-License-Identifier: MIT
"""The export of the record to tables, as docs/results.md describes it."""
from __future__ import annotations

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import synthetic  # noqa: E402
from experiments.runner import percentiles, tidy  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def export(self, rows: list[dict[str, Any]], env: dict[str, Any] | None = None) -> Any:
        synthetic.write(self.folder, rows, env)
        tidy.export(self.folder)
        return tidy.load(self.folder)


class Reading(Case):
    def path(self, text: str) -> Path:
        path = self.folder / "rows.jsonl"
        path.write_text(text, encoding="utf-8")
        return path

    def test_torn_last_line_is_forgiven(self) -> None:
        self.assertEqual(tidy.read_jsonl(self.path('{"a": 1}\n{"a": 2}\n{"a": 3')),
                         [{"a": 1}, {"a": 2}])

    def test_whole_last_line_without_newline_counts(self) -> None:
        self.assertEqual(len(tidy.read_jsonl(self.path('{"a": 1}\n{"a": 2}'))), 2)

    def test_any_other_broken_line_is_named(self) -> None:
        for text in ('{"a": 1}\n{"a": \n{"a": 3}\n', '{"a": 1}\n{"a": \n', '{"a": 1}\n[2]\n'):
            with self.assertRaisesRegex(tidy.TidyError, r"rows\.jsonl:2: not a JSON object"):
                tidy.read_jsonl(self.path(text))


class Percentiles(unittest.TestCase):
    def test_samples_needed(self) -> None:
        self.assertEqual([percentiles.samples_needed(p) for p in (50, 90, 99, 99.9, 99.99)],
                         [20, 100, 1000, 10_000, 100_000])

    def test_too_few_samples_give_none(self) -> None:
        self.assertIsNone(percentiles.percentile([(0, 0, 999)], 99.0))
        self.assertEqual(percentiles.percentile([(0, 7, 1000)], 99.0), 7.0)
        self.assertIsNone(percentiles.percentile([], 50.0))

    def test_highest_value_of_the_bucket(self) -> None:
        buckets = [(100, 101, 50), (102, 103, 49), (500, 503, 901)]
        self.assertEqual(percentiles.percentile(buckets, 90.0), 503.0)
        self.assertEqual(percentiles.percentile([(10, 11, 500), (20, 21, 500)], 50.0), 11.0)
        self.assertEqual(percentiles.percentile([(10, 11, 499), (20, 21, 501)], 50.0), 21.0)

    def test_merge_adds_equal_buckets(self) -> None:
        self.assertEqual(percentiles.merge([[(0, 1, 2), (4, 5, 1)], [(0, 1, 3)]]),
                         [[0.0, 1.0, 5.0], [4.0, 5.0, 1.0]])


class Export(Case):
    def test_one_row_a_sample(self) -> None:
        frame = self.export([synthetic.row("fifo", 2, 0, 0, throughput=1e6, reps=3)])
        part = frame[frame["metric"].eq("throughput")]
        self.assertEqual(len(part), 4)
        self.assertEqual(part["warmup"].tolist(), [True, False, False, False])
        self.assertEqual(set(part["unit"]), {"1/s"})
        self.assertEqual(set(frame["program"]), {"packet"})
        self.assertEqual(set(frame["workers"]), {2})
        for column in tidy.HEAD + tidy.TAIL:
            self.assertIn(column, frame.columns)

    def test_percentile_rows(self) -> None:
        frame = self.export([synthetic.row("fifo", 2, 0, 0, throughput=1e6, n=9000)])
        pooled = frame[frame["rep"].eq("pooled")]
        self.assertEqual(sorted(pooled["metric"]),
                         ["latency_p50_ns", "latency_p90_ns", "latency_p99_ns"])
        self.assertEqual(set(pooled["unit"]), {"ns"})

    def test_percentiles_never_pool_over_invocations(self) -> None:
        rows = [synthetic.row("fifo", 2, b, b, throughput=1e6, n=60_000) for b in range(4)]
        frame = self.export(rows)
        self.assertNotIn("latency_p99_99_ns", set(frame["metric"]))
        counts, highs = percentiles.count_matrix(tidy.load_hist(self.folder))
        self.assertEqual(counts.shape, (4, len(highs)))
        self.assertEqual(counts.sum(), 240_000)

    def test_a_failure_is_no_zero(self) -> None:
        frame = self.export([synthetic.row("fifo", 2, 0, 0, throughput=1e6),
                             synthetic.row("lifo", 2, 0, 1, throughput=1e6, status="failed",
                                           message="signal 11")])
        failed = frame[frame["status"].eq("failed") & ~frame["metric"].astype(str).str.startswith(
            "counter_")]
        self.assertTrue(failed["value"].isna().all())
        self.assertEqual(set(tidy.usable(frame)["status"]), {"ok"})

    def test_a_row_without_anything_stays_visible(self) -> None:
        row = synthetic.row("fifo", 2, 0, 0, throughput=1e6, status="timeout")
        row.update(counters={}, binary=None, rusage=None)
        frame = self.export([row])
        self.assertEqual((len(frame), frame["status"][0]), (1, "timeout"))
        self.assertTrue(frame["metric"].isna().all())
        self.assertEqual(frame["series"][0], "fifo (asked for)")

    def test_later_row_replaces_earlier(self) -> None:
        first = synthetic.row("fifo", 2, 0, 0, throughput=1e6, status="failed")
        again = synthetic.row("fifo", 2, 0, 1, throughput=1e6)
        stopped = synthetic.row("fifo", 2, 0, 2, throughput=1e6, status="interrupted")
        frame = self.export([first, again, stopped]).drop_duplicates("invocation")
        self.assertEqual(frame["superseded"].tolist(), [True, False, True])

    def test_oversubscribed_and_cores(self) -> None:
        frame = self.export([synthetic.row("fifo", w, 0, w, throughput=1e6) for w in (1, 2, 3)])
        by = frame.drop_duplicates("workers").set_index("workers")["oversubscribed"]
        self.assertEqual(by.to_dict(), {1: False, 2: False, 3: True})
        unknown = dict(synthetic.ENV, cpus_allowed=None)
        self.assertFalse(self.export([synthetic.row("fifo", 3, 0, 0, throughput=1e6)], unknown)
                         ["oversubscribed"].any())

    def test_series_is_what_the_binary_said(self) -> None:
        rows = [synthetic.row("fifo", 2, 0, 0, throughput=1e6),
                synthetic.row("fifo", 2, 0, 1, throughput=1e6, cell="x"),
                synthetic.row(None, 2, 0, 2, throughput=1e6, program="packet-pthread")]
        rows[1]["binary"]["knobs"]["layout"] = "global"
        rows[1]["params"]["scheduler"] = "lifo"            # asked for, but not what ran
        self.assertEqual(list(dict.fromkeys(self.export(rows)["series"])),
                         ["fifo:layout=local", "fifo:layout=global", "pthread"])

    def test_pinned_is_another_series(self) -> None:
        rows = [synthetic.row("fifo", 2, 0, i, throughput=1e6, cell=str(i)) for i in (0, 1)]
        rows[1]["params"]["pin"] = True
        self.assertEqual(list(self.export(rows)["series"].unique()), ["fifo", "fifo:pinned"])

    def test_factor_with_the_name_of_a_column(self) -> None:
        row = synthetic.row("fifo", 2, 0, 0, throughput=1e6)
        row["params"]["value"] = 17
        frame = self.export([row])
        self.assertEqual(set(frame["param_value"]), {17})

    def test_provenance(self) -> None:
        self.export([synthetic.row("fifo", 2, 0, 0, throughput=1e6)])
        said = tidy.load_provenance(self.folder)
        self.assertEqual((said["matrix"], said["machine"], said["cores"], said["date"]),
                         ("synthetic", "Test CPU 9000", 2, "2026-01-02"))
        (self.folder / "env.jsonl").write_text("", encoding="utf-8")
        tidy.export(self.folder)
        self.assertIsNone(tidy.load_provenance(self.folder)["commit"])

    def test_measured_and_simulated(self) -> None:
        """A footer names both machines where a record has rows of both; one where it has not."""
        rows = [synthetic.row("fifo", 2, 0, i, throughput=1e6, cell=str(i)) for i in range(3)]
        for row in rows[:2]:
            row["build"]["runtime"], row["binary"]["runtime"] = "sim", "simulate"
        rows[0]["sim"] = {"machine": "epyc7702x2", "cores": 64}         # the second one failed before it said anything
        rows[1]["status"] = "failed"
        self.export(rows)
        said = tidy.load_provenance(self.folder)
        self.assertEqual((said["machine"], said["cores"]),
                         ("Test CPU 9000 (measured), epyc7702x2 (simulated)", 64))
        self.export(rows[:2])
        self.assertEqual(tidy.load_provenance(self.folder)["machine"], "epyc7702x2 (simulated)")

    def test_load_exports_again_when_the_record_is_newer(self) -> None:
        self.export([synthetic.row("fifo", 2, 0, 0, throughput=1e6)])
        with (self.folder / "rows.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(synthetic.row("lifo", 2, 0, 1, throughput=1e6)) + "\n")
        os.utime(self.folder / "tidy.csv", (1, 1))
        self.assertEqual(set(tidy.load(self.folder)["series"]), {"fifo", "lifo"})

    def test_no_rows_at_all(self) -> None:
        frame = self.export([])
        self.assertEqual(len(frame), 0)
        self.assertEqual(len(tidy.usable(frame)), 0)


if __name__ == "__main__":
    unittest.main()
