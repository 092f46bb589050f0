# SPDX-License-Identifier: MIT
"""Row M7.6, figure 7.6 of M: four spawners (two at 5 workers).

The thresholds were written down before anything was simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_20": [18, 22], "at_80": [75, 85], "at_end": [100, 120],
    # it goes on rising: throughput with four spawners, at 80 and at the end, over that at 20
    "rises": 1.0,
    # and is more than with one spawner at the end
    "more": 1.0,
}
APART = ("workers", "scheduler", "spawners")


def at(series: str, spawners: int, name: str) -> Point:
    return {"scheduler_said": series, "spawners": spawners, "workers": THRESHOLDS[name]}


CLAIMS: dict[str, Predicate] = {
    "more spawners restore scaling": statements(
        "packet", APART, {"workers": THRESHOLDS["workers"]},
        [Over("throughput", at(s, 4, x), at(s, 4, "at_20"), "above", THRESHOLDS["rises"])
         for s in ("fifo", "lifo") for x in ("at_80", "at_end")]
        + [Over("throughput", at(s, 4, "at_end"), at(s, 1, "at_end"), "above", THRESHOLDS["more"])
           for s in ("fifo", "lifo")]),
}
