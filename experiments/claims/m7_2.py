# SPDX-License-Identifier: MIT
"""Row M7.2, figure 7.2 of M: attempts to steal, and what they come to, of lifo.

The thresholds were written down before anything was simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_20": [18, 22], "at_80": [75, 85], "at_end": [100, 120],
    # attempts grow up to 80 workers: those at 80 over those at 20, which are a quarter as many
    "grow": 1.5,
    # and stop there: those at the end (1.44 times as many workers) over those at 80
    "stop": 1.15,
    # attempts that hit, at the end over at 20
    "falls": 1.0,
}
APART = ("workers", "scheduler")


def at(name: str) -> Point:
    return {"scheduler_said": "lifo", "workers": THRESHOLDS[name]}


SOURCE = {"workers": THRESHOLDS["workers"]}
TRIES, SHARE = "counter_steal_try", ("counter_steal_hit", "counter_steal_try")

CLAIMS: dict[str, Predicate] = {
    "attempts stop growing above 80": statements("packet", APART, SOURCE, [
        Over(TRIES, at("at_80"), at("at_20"), "above", THRESHOLDS["grow"]),
        Over(TRIES, at("at_end"), at("at_80"), "below", THRESHOLDS["stop"])]),
    "hit rate falls": statements("packet", APART, SOURCE, [
        Over(SHARE, at("at_end"), at("at_20"), "below", THRESHOLDS["falls"])]),
}
