# SPDX-License-Identifier: MIT
"""The claims of the rows H4, H6 and B3.3, on synthetic tables that must give each verdict."""
from __future__ import annotations

import importlib
import itertools
import random
import sys
import tempfile
import unittest
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "plots")]

from experiments.runner import claims, tidy  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402

import style  # noqa: E402

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


#: the axis of each, which every point must bear out
AXIS = {"H4": ("fibres", (100, 1000, 10000)), "H6": ("fibres", (2, 8, 32)),
        "B3.3": ("frame", (64, 512, 4096))}


class Verdicts(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def table(self, row: str, values: dict[str, float], blocks: int = 8,
              better: dict[str, float] | None = None) -> pd.DataFrame:
        """`values` at three points of the axis, or `better` at all but the last."""
        program, factor, metric, _good, _bad = ROWS[row]
        axis, points = AXIS[row]
        rows = []
        for block, x in itertools.product(range(blocks), points):
            for name, value in (better if better and x != points[-1] else values).items():
                rng = random.Random(f"{name} {block}")
                noise = 1 + rng.gauss(0, 0.01) if metric == "create_again" else 1.0
                rows.append({"cell": f"{name} {x}", "block": block, "order": len(rows), "rep": "1",
                             "invocation": len(rows), "warmup": False, "status": "ok",
                             "superseded": False, "workers": 1, factor: name, "program": program,
                             axis: x,
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

    def test_one_point_is_enough_to_fail(self) -> None:
        for row, (_p, _f, _m, good, bad) in ROWS.items():
            with self.subTest(row):
                (found,) = claims.judge(row, self.table(row, bad[0], better=good[0]))
                self.assertEqual(found.verdict, FAILS, found.why)
                self.assertIn(f"{AXIS[row][1][-1]}", found.why)

    def test_drawn(self) -> None:
        for row, name in (("H4", "stacks_h4"), ("H6", "contexts_h6"), ("B3.3", "split_b3_3")):
            with self.subTest(row):
                self.table(row, ROWS[row][3][0])
                module = importlib.import_module(name)
                path = str(self.folder / "tidy.csv")
                self.assertEqual(style.script(name, module.draw, [name, path]), 0)
                drawn = pd.read_csv(self.folder / "figures" / f"{name}.table.csv")
                self.assertEqual(sorted(set(drawn["x"])), sorted(AXIS[row][1]))
                self.assertEqual(set(drawn["series"]), set(ROWS[row][3][0]))

    def test_without_its_axis(self) -> None:
        for row, (_p, _f, _m, good, _bad) in ROWS.items():
            with self.subTest(row):
                table = self.table(row, good[0]).drop(columns=AXIS[row][0])
                (found,) = claims.judge(row, table)
                self.assertEqual(found.verdict, OPEN)
                self.assertIn(AXIS[row][0], found.why)

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
