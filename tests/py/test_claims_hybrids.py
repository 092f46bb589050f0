# SPDX-License-Identifier: MIT
"""The claim and the figure of M4.2 on synthetic tables that must give each verdict."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
import test_claims_rows as rows  # noqa: E402

from experiments.runner import claims  # noqa: E402
from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402

[BETWEEN] = claims.module("M4.2").CLAIMS
#: packets a second and p99 in ns
ENDS = {"fifo:private=0": (1.0e6, 1e5), "lifo:private=0": (1.3e6, 9e5)}
HYBRIDS = {"hybrid:policy=reverse:n=8:private=0": (1.1e6, 2e5),
           "hybrid:policy=switch:n=64:private=0": (1.2e6, 5e5),
           "hybrid:p=25:policy=stochastic": (1.3e6, 9e5)}


def points(series: dict[str, tuple[float, float]],
           workers: tuple[int, ...] = (1, 2)) -> list[tuple[rows.Point, rows.Metrics]]:
    return [({"program": "packet", "workers": w, "series": name, "scheduler_said": name.split(":")[0]},
             {"throughput": ("1/s", rate * w), "latency_p99_ns": ("ns", tail)})
            for name, (rate, tail) in series.items() for w in workers]


class Hybrids(rows.Case):
    row = "M4.2"

    def test_between(self) -> None:
        frame = rows.table(self.folder, points(ENDS | HYBRIDS))
        self.verdict(frame, BETWEEN, HOLDS, "3 hybrids lie between fifo and lifo")
        self.assertIn("at workers 1, 2", self.judge(frame)[BETWEEN].why)

    def test_simulated(self) -> None:
        """Rows of simulated cores are named as the tables name them, and judged at their own number of cores."""
        named = {"fifo (simulated)": ENDS["fifo:private=0"], "lifo (simulated)": ENDS["lifo:private=0"],
                 **{f"{name} (simulated)": values for name, values in HYBRIDS.items()}}
        there = [({**point, "runtime": "simulate", "scheduler_said": str(point["series"])[:4]}, metrics)
                 for point, metrics in points(named, (20, 64))]
        self.verdict(rows.table(self.folder, there, cores=64), BETWEEN, HOLDS, "3 hybrids lie between fifo and lifo")
        self.assertIn("at workers 20, 64", self.judge(rows.table(self.folder, there, cores=64))[BETWEEN].why)

    def test_beyond(self) -> None:
        """Above both, or below both, on either axis."""
        name = next(iter(HYBRIDS))
        for change in ((0.8e6, 2e5), (1.5e6, 2e5), (1.1e6, 5e4), (1.1e6, 2e6)):
            frame = rows.table(self.folder, points(ENDS | HYBRIDS | {name: change}))
            self.verdict(frame, BETWEEN, FAILS, name)

    def test_other_way_round(self) -> None:
        """Which of the two ends is the faster one is not part of the claim."""
        a, b = ENDS.values()
        frame = rows.table(self.folder, points({"fifo:private=0": b, "lifo:private=0": a} | HYBRIDS))
        self.verdict(frame, BETWEEN, HOLDS)

    def test_undecided(self) -> None:
        same = {name: (1.0e6, 1e5) for name in ENDS}
        self.verdict(rows.table(self.folder, points(same | HYBRIDS)), BETWEEN, OPEN, "cannot be told apart")
        self.verdict(rows.table(self.folder, points(ENDS)), BETWEEN, OPEN, "no point of a hybrid")
        self.verdict(rows.table(self.folder, points(HYBRIDS)), BETWEEN, OPEN, "")
        self.verdict(rows.table(self.folder, points(ENDS | HYBRIDS), cores=0), BETWEEN, OPEN, "more workers than cores")
        self.verdict(rows.table(self.folder, points(ENDS | HYBRIDS), blocks=4), BETWEEN, OPEN, "")

    def test_figure(self) -> None:
        rows.table(self.folder, points(ENDS | HYBRIDS))
        drawn = self.figure("hybrids_m4_2", 2)
        self.assertEqual(set(drawn["series"]), set(ENDS | HYBRIDS))


if __name__ == "__main__":
    unittest.main()
