# SPDX-License-Identifier: MIT
"""Claims of M7.8 to M7.11 and B3.1 on synthetic tables that must give each verdict."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Callable

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from experiments.runner.claims import FAILS, HOLDS, OPEN  # noqa: E402
from test_claims_rows import Case, Metrics, Point, table  # noqa: E402

WORKERS = (20, 80, 115)
#: throughput, tries to steal, hits, requests and those that found something
Figures = tuple[float, float, float, float, float]
PLAIN: Figures = (1e6, 1e4, 1e3, 0, 0)


def of(specs: dict[str, Figures]) -> list[tuple[Point, Metrics]]:
    """fifo and lifo with each of the knobs, at each number of workers."""
    points: list[tuple[Point, Metrics]] = []
    for series in ("fifo", "lifo"):
        for knobs, (speed, tries, hits, asked, forced) in specs.items():
            for workers in WORKERS:
                spec = f"{series}:private=0{knobs}"
                points.append(({"program": "packet", "scheduler": spec, "series": spec,
                                "scheduler_said": series, "workers": workers},
                               {"throughput": ("1/s", speed), "counter_steal_try": ("1", tries),
                                "counter_steal_hit": ("1", hits), "counter_request": ("1", asked),
                                "counter_forced": ("1", forced)}))
    return points


class Steals(Case):
    def frame(self, specs: dict[str, Figures], cores: int = 128) -> pd.DataFrame:
        return table(self.folder, of(specs), cores=cores)

    def all(self, as_source: dict[str, Figures], against: dict[str, Figures]) -> None:
        """Every claim of the row holds, does not hold, and cannot be decided."""
        wanted: list[tuple[Callable[[], pd.DataFrame], str]] = [
            (lambda: self.frame(as_source), HOLDS), (lambda: self.frame(against), FAILS),
            (lambda: self.frame(as_source, cores=2), OPEN),
            (lambda: self.frame({"": PLAIN}), OPEN)]
        for make, verdict in wanted:
            found = self.judge(make())
            self.assertEqual({claim: j.verdict for claim, j in found.items()},
                             dict.fromkeys(found, verdict), [j.why for j in found.values()])


class Least(Steals):
    row = "M7.8"

    def test_verdicts(self) -> None:
        self.all({"": PLAIN, ":least=10": (7e5, 3e4, 1e3, 0, 0)},
                 {"": PLAIN, ":least=10": (1.2e6, 5e3, 1e3, 0, 0)})


class Requests(Steals):
    row = "M7.9"

    def test_verdicts(self) -> None:
        self.all({"": PLAIN, ":request=once": (4e5, 1e4, 1e3, 1e3, 100),
                  ":request=sticky": (3e5, 1e4, 1e3, 1e3, 50)},
                 {"": PLAIN, ":request=once": (1e6, 1e4, 1e3, 1e3, 900),
                  ":request=sticky": (2e6, 1e4, 1e3, 1e3, 800)})

    def test_one_kind_refutes(self) -> None:
        frame = self.frame({"": PLAIN, ":request=once": (4e5, 1e4, 1e3, 1e3, 100),
                            ":request=sticky": (1e6, 1e4, 1e3, 1e3, 50)})
        self.verdict(frame, "highly negative", FAILS, "request=sticky")


class Tickets(Steals):
    row = "M7.10"

    def test_verdicts(self) -> None:
        self.all({"": PLAIN, ":request=once": (4e5, 1e4, 1e3, 0, 0),
                  ":request=ticket": (2e6, 1e3, 9e2, 0, 0)},
                 {"": PLAIN, ":request=once": (9e5, 1e4, 1e3, 0, 0),
                  ":request=ticket": (8e5, 1e4, 9e2, 0, 0)})


class Overflow(Steals):
    row = "M7.11"

    def test_verdicts(self) -> None:
        def specs(*speeds: float) -> dict[str, Figures]:
            names = ("", ":full=global:pool=locked", ":full=global:pool=ring",
                     ":full=global:pool=five", ":full=grow", ":full=chain", ":chance=100:pool=five")
            return {name: (speed, *PLAIN[1:]) for name, speed in zip(names, speeds)}
        self.all(specs(10e5, 5e5, 6e5, 7e5, 11e5, 12e5, 13e5),
                 specs(10e5, 7e5, 6e5, 5e5, 4e5, 3e5, 9e5))


class Affinity(Case):
    row = "B3.1"

    def frame(self, workers: int, transient: tuple[float, float],
              sticky: tuple[float, float]) -> pd.DataFrame:
        points: list[tuple[Point, Metrics]] = [
            ({"program": "affinity", "scheduler": spec, "series": spec, "workers": workers},
             {"imbalance": ("1", values[0]), "at_home": ("1", values[1])})
            for spec, values in (("fifo:place=owner", transient),
                                 ("fifo:place=owner:sticky=1", sticky))]
        return table(self.folder, points)

    def test_verdicts(self) -> None:
        claim = "sticky balances, transient keeps affinity"
        self.verdict(self.frame(2, (1.8, 0.9), (1.1, 0.5)), claim, HOLDS)
        self.verdict(self.frame(2, (1.1, 0.9), (1.8, 0.5)), claim, FAILS, "imbalance")
        self.verdict(self.frame(2, (1.8, 0.5), (1.1, 0.5)), claim, FAILS, "at home")
        self.verdict(self.frame(1, (1.8, 0.9), (1.1, 0.5)), claim, OPEN, "two workers")

    def test_figure(self) -> None:
        self.frame(2, (1.8, 0.9), (1.1, 0.5))
        drawn = self.figure("affinity_b3_1", 2)  # of three: there is no throughput
        home = drawn[drawn["metric"].eq("at_home")].set_index("series")["median"]
        self.assertGreater(home["transient"], home["sticky"])


if __name__ == "__main__":
    unittest.main()
