# SPDX-License-Identifier: MIT
"""Intervals, ratios, drift: against values that can be computed by hand."""
from __future__ import annotations

import math
import sys
import unittest
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from experiments.runner import stats  # noqa: E402


def frame(values: list[tuple[int, int, float, bool]], cell: str = "c") -> pd.DataFrame:
    """(invocation, rep, value, warmup) as a tidy table; the block is the invocation."""
    return pd.DataFrame([{"invocation": i, "block": i, "order": i, "rep": str(r), "value": v,
                          "warmup": w, "status": "ok", "superseded": False, "metric": "m",
                          "cell": cell} for i, r, v, w in values])


class Median(unittest.TestCase):
    def test_interval_holds_the_median_and_is_repeatable(self) -> None:
        data = np.random.default_rng(3).normal(100.0, 5.0, 25)
        first, second = stats.median(data), stats.median(data)
        self.assertEqual(first, second)
        self.assertEqual(first.flag, "")
        self.assertEqual(first.value, float(np.median(data)))
        self.assertTrue(first.low < first.value < first.high)
        self.assertTrue(94.0 < first.low and first.high < 106.0)

    def test_coverage(self) -> None:
        rng, hits = np.random.default_rng(5), 0
        for _ in range(60):
            found = stats.median(rng.exponential(1.0, 15))
            hits += found.low <= math.log(2.0) <= found.high
        self.assertGreaterEqual(hits, 51)       # 95 % nominal, 60 trials

    def test_few_values_have_no_interval_and_say_so(self) -> None:
        for data in ([7.0], [7.0, 9.0]):
            found = stats.median(data)
            self.assertFalse(found.has_interval)
            self.assertEqual((found.flag, found.n), ("n<3", len(data)))

    def test_below_six_the_interval_is_flagged_and_decides_nothing(self) -> None:
        self.assertLess(1 - 2 * 0.5 ** (stats.FEW - 1), stats.CONFIDENCE)
        self.assertGreaterEqual(1 - 2 * 0.5 ** stats.FEW, stats.CONFIDENCE)
        data = [7.0, 9.0, 8.0, 7.5, 8.2, 8.3]
        for n in (3, 4, 5):
            found = stats.median(data[:n])
            self.assertTrue(found.has_interval)
            self.assertFalse(found.decides)
            self.assertEqual(found.flag.split(", ")[-1], "n<6: covers less than 95 %")
        self.assertEqual(stats.median(data).flag, "")
        self.assertTrue(stats.median(data).decides)

    def test_degenerate_and_empty(self) -> None:
        found = stats.median([4.0] * 6)
        self.assertEqual((found.value, found.low, found.high, found.flag),
                         (4.0, 4.0, 4.0, "degenerate"))
        self.assertEqual(stats.median([4.0] * 5).flag, f"degenerate, {stats.FEW_FLAG}")
        self.assertEqual(stats.median([]).flag, "no data")

    def test_fallback_is_flagged(self) -> None:
        found = stats.median([1.0, 1.0, 1.0, 1.0, 1.0, 2.0])
        self.assertTrue(found.has_interval)
        self.assertEqual(found.flag, "percentile")


class Invocations(unittest.TestCase):
    def test_repetitions_are_reduced_and_warm_up_is_left_out(self) -> None:
        table = frame([(0, 0, 1000.0, True), (0, 1, 1.0, False), (0, 2, 2.0, False),
                       (0, 3, 30.0, False), (1, 0, 1000.0, True), (1, 1, 5.0, False)])
        per = stats.invocations(table, "m")
        self.assertEqual(per["value"].tolist(), [2.0, 5.0])

    def test_many_repetitions_do_not_narrow_the_interval(self) -> None:
        few = frame([(i, 0, float(10 + i), False) for i in range(5)])
        many = frame([(i, r, float(10 + i), False) for i in range(5) for r in range(50)])
        one, two = (stats.median(stats.invocations(t, "m")["value"]) for t in (few, many))
        self.assertEqual((one, one.n), (two, 5))

    def test_rows_that_are_not_good_are_left_out(self) -> None:
        table = frame([(0, 0, 1.0, False), (1, 0, 0.0, False), (2, 0, 0.0, False)])
        table.loc[1, "status"] = "failed"
        table.loc[2, "superseded"] = True
        self.assertEqual(stats.invocations(table, "m")["value"].tolist(), [1.0])


class Ratio(unittest.TestCase):
    def test_paired_by_block(self) -> None:
        # the machine gets three times slower from block to block; the ratio stays the same
        slow = np.array([1.0, 3.0, 9.0, 27.0, 81.0, 243.0])
        noise = np.array([1.0, 1.01, 0.99, 1.005, 0.995, 1.002])
        first, second = pd.Series(2.0 * slow * noise), pd.Series(slow)
        found = stats.ratio(first, second)
        self.assertAlmostEqual(found.value, 2.0, places=2)
        self.assertTrue(1.97 < found.low and found.high < 2.03)
        self.assertTrue(stats.difference_shown(found))
        self.assertTrue(stats.ratio_text(found).startswith("2.00 ["))

    def test_interval_with_one_shows_no_difference(self) -> None:
        found = stats.ratio(pd.Series([1.0, 1.1, 0.9, 1.05, 0.95, 1.02]), pd.Series([1.0] * 6))
        self.assertFalse(stats.difference_shown(found))
        self.assertTrue(stats.ratio_text(found).startswith(stats.NO_DIFFERENCE))

    def test_fewer_than_six_blocks_show_nothing(self) -> None:
        one = pd.Series([1.0] * 5)
        for values in ([2.0, 2.1, 1.9, 2.05, 1.95], [2.0] * 5):
            found = stats.ratio(pd.Series(values), one)
            self.assertTrue(found.low > 1.0)
            self.assertFalse(stats.difference_shown(found))
            self.assertRegex(stats.ratio_text(found), r"^too few blocks to say \(2.00 \[")

    def test_degenerate_needs_six_blocks_too(self) -> None:
        found = stats.ratio(pd.Series([2.0] * 6), pd.Series([1.0] * 6))
        self.assertEqual(found.flag, "degenerate")
        self.assertTrue(stats.difference_shown(found))
        self.assertEqual(stats.ratio_text(found), "2.00 [2.00, 2.00]")
        same = stats.ratio(pd.Series([1.0] * 6), pd.Series([1.0] * 6))
        self.assertFalse(stats.difference_shown(same))

    def test_only_common_blocks(self) -> None:
        first = pd.Series([2.0, 2.0, 2.0], index=[0, 1, 2])
        found = stats.ratio(first, pd.Series([1.0, 1.0], index=[2, 3]))
        self.assertEqual(found.n, 1)
        self.assertIn("no interval", stats.ratio_text(found))
        self.assertTrue(stats.ratio_text(found).startswith(stats.TOO_FEW))
        self.assertEqual(stats.ratio(first, pd.Series([1.0], index=[9])).flag, "no common block")
        self.assertEqual(stats.ratio(first, first * 0.0).flag, "divisor is zero")


class Pooled(unittest.TestCase):
    def test_against_brute_force(self) -> None:
        rng = np.random.default_rng(11)
        counts = rng.poisson(3.0, (6, 300)).astype(float)
        highs = np.arange(300.0)
        for percent in (50.0, 99.0):
            total = np.cumsum(counts.sum(axis=0))
            rank = math.ceil(percent / 100 * total[-1])
            found = stats.pooled_percentile(counts, highs, percent)
            self.assertEqual(found.value, highs[np.searchsorted(total, rank)])
            self.assertTrue(found.low <= found.value <= found.high)

    def test_invocations_are_what_is_resampled(self) -> None:
        counts = np.zeros((5, 5))
        counts[np.arange(5), np.arange(5)] = 1e6        # a million samples, but five invocations
        found = stats.pooled_percentile(counts, np.arange(5.0), 50.0)
        self.assertGreaterEqual(found.high - found.low, 2.0)
        self.assertEqual(stats.pooled_percentile(counts[:2], np.arange(5.0), 50.0).flag, "n<3")
        self.assertEqual(found.flag, stats.FEW_FLAG)
        same = stats.pooled_percentile(np.ones((5, 5)), np.arange(5.0), 50.0)
        self.assertEqual(same.flag, f"degenerate, {stats.FEW_FLAG}")


class Drift(unittest.TestCase):
    def test_trend_over_the_run(self) -> None:
        rng = np.random.default_rng(2)
        rising = frame([(i, 0, 100.0 + 2.0 * i + rng.normal(), False) for i in range(12)])
        found = stats.drifts(rising, ["m"])
        self.assertEqual([d.against for d in found], ["over the run"])
        self.assertGreater(found[0].change, 0.1)
        self.assertIn("rose", found[0].text())

    def test_trend_over_repetitions(self) -> None:
        rng = np.random.default_rng(2)
        table = frame([(i, r, 100.0 - 3.0 * r + rng.normal(), False)
                       for i in range(8) for r in range(6)])
        self.assertEqual([d.against for d in stats.drifts(table, ["m"])],
                         ["from the first to the last repetition"])

    def test_noise_is_no_drift(self) -> None:
        rng = np.random.default_rng(4)
        table = frame([(i, r, rng.normal(100.0, 3.0), False) for i in range(12) for r in range(4)])
        self.assertEqual(stats.drifts(table, ["m"]), [])

    def test_unlike_cells_are_no_drift(self) -> None:
        parts = [frame([(i, 0, 10.0 + 0.01 * (i % 2), False) for i in range(6)], "a"),
                 frame([(i, 0, 90.0 + 0.01 * (i % 2), False) for i in range(6, 12)], "b")]
        self.assertEqual(stats.drifts(pd.concat(parts), ["m"]), [])


class Number(unittest.TestCase):
    def test_three_digits(self) -> None:
        for value, text in ((0.0, "0"), (1.2345, "1.23"), (123.4, "123"), (0.01234, "0.0123"),
                            (1234567.0, "1\u202f230\u202f000"), (math.nan, "–")):
            self.assertEqual(stats.number(value), text)


if __name__ == "__main__":
    unittest.main()
