# SPDX-License-Identifier: MIT
"""Simulated against measured: ratios, rankings and the median error out of made-up records; the figure draws them."""
from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import pandas as pd

import synthetic
from fake_tree import ROOT

from experiments.runner import calibrate, matrix, tidy, validation


def rows(measured: dict[str, float], simulated: dict[str, float], noise: float = 0.02, blocks: int = 6) -> list[dict[str, Any]]:
    out = []
    for runtime, values in (("simulate", simulated), ("native", measured)):
        for block in range(blocks):
            scatter = 1 + noise * (block - blocks / 2) if runtime == "native" else 1.0
            row = synthetic.row("fifo", 2, block, len(out), throughput=1.0, hist=False, program="micro")
            row["binary"]["runtime"] = runtime
            row["build"] = {"runtime": "sim" if runtime == "simulate" else "native"}
            row["counters"] = {"switch": 3}
            row["samples"] = [{"metric": m, "unit": "ns", "value": v * scatter, "rep": 0, "warmup": False}
                              for m, v in values.items()]
            out.append(row)
    return out


class Judged(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())

    def load(self, made: list[dict[str, Any]]) -> pd.DataFrame:
        text = "".join(json.dumps(r) + "\n" for r in made)
        (self.folder / "rows.jsonl").write_text(text, encoding="utf-8")
        (self.folder / "env.jsonl").write_text(json.dumps(synthetic.ENV) + "\n", encoding="utf-8")
        tidy.export(self.folder)
        return tidy.load(self.folder)

    def test_ratios(self) -> None:
        frame = self.load(rows({"a": 100.0, "b": 200.0, "c": 400.0}, {"a": 110.0, "b": 180.0, "c": 800.0}))
        found = validation.points(frame)
        self.assertEqual([p.metric for p in found], ["a", "b", "c"])
        for p, ratio in zip(found, (1.1 / 0.965, 0.9 / 0.965, 2.0 / 0.965)):
            self.assertAlmostEqual(p.ratio.value, ratio, delta=0.05)
            self.assertTrue(p.ratio.low < p.ratio.value < p.ratio.high)
            self.assertAlmostEqual(p.ratio.high, p.simulated / p.measured[1])
            self.assertAlmostEqual(p.ratio.low, p.simulated / p.measured[2])
        self.assertLess(validation.median_error(found), validation.AIM)
        self.assertEqual(validation.rankings(found), (3, []))
        self.assertIn("3 of 3 pairs", " ".join(validation.summary(found)))

    def test_noise_only_adds(self) -> None:
        """Blocks in which something else ran do not move a point, nor a ranking, as long as a quarter of them was quiet."""
        made = rows({"a": 100.0, "b": 150.0}, {"a": 100.0, "b": 150.0}, noise=0.0)
        for row in made:
            if row["build"]["runtime"] == "native" and row["block"] > 2:
                row["samples"][0]["value"] *= 10
        a, b = validation.points(self.load(made))
        self.assertEqual((a.measured, a.ratio.value, b.ratio.value), ((100.0, 100.0, 1000.0), 1.0, 1.0))
        self.assertEqual(a.error, 0)
        self.assertEqual(validation.quiet(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), "1/s"), 4.0)
        self.assertEqual(validation.quiet(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), "ns"), 2.0)

    def test_wrong_ranking(self) -> None:
        """Told where the difference is clear; no pair where the measured ranges overlap."""
        values = {"a": 100.0, "b": 200.0}, {"a": 400.0, "b": 200.0}
        clear, wrong = validation.rankings(validation.points(self.load(rows(*values))))
        self.assertEqual((clear, [(a.metric, b.metric) for a, b in wrong]), (1, [("a", "b")]))
        said = " ".join(validation.summary(validation.points(self.load(rows(*values)))))
        self.assertRegex(said, "Measured, but not simulated: micro a, fifo, 2 w before micro b.*")
        self.assertIn("not within the aim", said)
        self.assertEqual(validation.rankings(validation.points(self.load(rows(*values, noise=0.3)))), (0, []))

    def test_operations(self) -> None:
        """A point whose sides have done the thing so differently often is named, and in neither figure."""
        for times, said in ((9, "over 2 points"), (11, "over 1 points"), (1 / 11, "over 1 points")):
            made = rows({"a": 100.0, "b": 200.0}, {"a": 900.0, "b": 180.0})
            for row in made:
                row["counters"] = {"a_ops": 1000 * (times if row["build"]["runtime"] == "sim" else 1), "b_ops": 17}
            found = validation.points(self.load(made))
            self.assertEqual([p.comparable for p in found], [times == 9, True])
            text = " ".join(validation.summary(found))
            self.assertIn(said, text)
            self.assertEqual(times == 9, "Measured, but not simulated: " in text)
            self.assertEqual(times != 9, "more than 10 times the operations of the other: micro a, fifo, 2 w." in text)
        self.assertEqual(len(validation.summary(found[:1])), 1)

    def test_figure(self) -> None:
        self.load(rows({"a": 100.0, "b": 200.0}, {"a": 110.0, "b": 180.0}))
        done = subprocess.run([sys.executable, str(ROOT / "plots/validation.py"), str(self.folder)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = pd.read_csv(self.folder / "figures/validation.table.csv")
        self.assertEqual(list(table["metric"]), ["a", "b"])
        self.assertIn("Median error", table["note"][0])
        self.load(rows({"a": 100.0}, {"b": 100.0}))
        done = subprocess.run([sys.executable, str(ROOT / "plots/validation.py"), str(self.folder)], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_matrix(self) -> None:
        """Every simulated cell comes first, and each native one has a prediction; how long a repetition is may differ."""
        found = matrix.load(ROOT, matrix.find(ROOT, "validation"))
        sim = [c.build.get("runtime") == "sim" for c in found.cells]
        self.assertEqual(found.order, "sequential")
        self.assertEqual(sim, sorted(sim, reverse=True))
        keys = [(c.program, c.params.get("scheduler"), c.params.get("workers"),
                 {n: v for n, v in c.options.items() if n != "ms"}) for c in found.cells]
        self.assertEqual(sorted(map(str, keys[:sum(sim)])), sorted(map(str, keys[sum(sim):])))


class Disjoint(unittest.TestCase):
    @staticmethod
    def cases(program: str) -> set[str]:
        """What a program of the kind of micro measures: rows of its tables of cases."""
        text = (ROOT / "experiments" / "workloads" / f"{program}.c").read_text(encoding="utf-8")
        return set(re.findall(r'^    \{"(\w+)", "[^"]+", \d+, \d+, \w+\},$', text, re.MULTILINE))

    def test_disjoint(self) -> None:
        """Nothing is validated with what has been calibrated with."""
        kernels = self.cases(calibrate.PROGRAM)
        self.assertEqual(kernels, {*calibrate.WORK, *calibrate.SOLVED, *calibrate.DIRECT}, "each kernel is used")
        self.assertGreater(len(self.cases("micro")), 12)
        self.assertEqual(self.cases("micro") & kernels, set())
        for cell in matrix.load(ROOT, matrix.find(ROOT, "validation")).cells:
            self.assertNotEqual(cell.program, calibrate.PROGRAM)
            if cell.program == "micro":
                self.assertEqual(cell.options["case"], "runtime", "the table that is read above")


if __name__ == "__main__":
    unittest.main()
