# SPDX-License-Identifier: MIT
"""The claims of the rows H4, H6 and B3.3, on synthetic tables that must give each verdict."""
from __future__ import annotations

import random
import sys
import tempfile
import unittest
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from experiments.runner import claims, tidy  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402

#: row, factor, metric -> values that hold, values that do not, and the program
ROWS: dict[str, tuple[str, str, str, list[dict[str, float]], list[dict[str, float]]]] = {
    "H4": ("stacks", "stacks", "create_again",
           [{"pooled": 300, "mmap": 70_000, "malloc": 1500}],
           [{"pooled": 300, "mmap": 1600, "malloc": 1500},      # mmap is not costly
            {"pooled": 2000, "mmap": 70_000, "malloc": 1500}]),  # keeping is not best
    "H6": ("steps", "context", "yield_syscalls",
           [{"asm": 0, "ucontext": 1}],
           [{"asm": 0, "ucontext": 2}, {"asm": 1, "ucontext": 1}, {"asm": 0, "ucontext": 0}]),
    "B3.3": ("steps", "stacks", "call_instructions",
             [{"pooled": 14, "split": 17}],
             [{"pooled": 14, "split": 40}, {"pooled": 14, "split": 13}]),
}


class Verdicts(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def table(self, row: str, values: dict[str, float], blocks: int = 8) -> pd.DataFrame:
        program, factor, metric, _good, _bad = ROWS[row]
        rows = []
        for block in range(blocks):
            for name, value in values.items():
                rng = random.Random(f"{name} {block}")
                noise = 1 + rng.gauss(0, 0.01) if metric == "create_again" else 1.0
                rows.append({"cell": name, "block": block, "order": len(rows), "rep": "1",
                             "invocation": len(rows), "warmup": False, "status": "ok",
                             "superseded": False, "workers": 1, factor: name, "program": program,
                             "series": "fifo", "scheduler_said": "fifo", "runtime": "native",
                             "cores": 2, "oversubscribed": False, "metric": metric, "unit": "1",
                             "value": value * noise})
        path = self.folder / "tidy.csv"
        pd.DataFrame(rows).to_csv(path, index=False)
        return tidy.load(path)

    def judged(self, row: str, values: dict[str, float], blocks: int = 8) -> claims.Judged:
        (found,) = claims.judge(row, self.table(row, values, blocks))
        return found

    def test_holds(self) -> None:
        for row, (_p, _f, _m, good, _bad) in ROWS.items():
            for values in good:
                with self.subTest(f"{row} {values}"):
                    found = self.judged(row, values)
                    self.assertEqual(found.verdict, HOLDS, found.why)
                    self.assertTrue(found.judged_by)

    def test_does_not_hold(self) -> None:
        for row, (_p, _f, _m, _good, bad) in ROWS.items():
            for values in bad:
                with self.subTest(f"{row} {values}"):
                    found = self.judged(row, values)
                    self.assertEqual(found.verdict, FAILS, found.why)

    def test_not_decidable(self) -> None:
        for row, (_p, factor, _m, good, _bad) in ROWS.items():
            with self.subTest(row):
                self.assertEqual(self.judged(row, good[0], blocks=4).verdict, OPEN)
                name = next(iter(good[0]))
                found = self.judged(row, {name: good[0][name]})
                self.assertEqual(found.verdict, OPEN)
                self.assertIn(f"with {factor}", found.why)


class BuildColumns(unittest.TestCase):
    def test_what_the_binary_says_is_the_column(self) -> None:
        row = {"params": {"workers": 1}, "build": {"stacks": "mmap", "compiler": "gcc"},
               "binary": {"stacks": "malloc", "compiler": "gcc 12", "context": "asm"}}
        self.assertEqual(tidy.settings(row), {"workers": 1, "stacks": "malloc"})


if __name__ == "__main__":
    unittest.main()
