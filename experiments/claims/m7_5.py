# SPDX-License-Identifier: MIT
"""Row M7.5, figure 7.5 of M: 500 ns more to do for each packet.

The thresholds were written down before anything was simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_80": [75, 85], "at_100": [95, 105], "at_end": [110, 120],
    # throughput at 100 and at the end over that at 80: less is the drop of figure 7.1 (row M7.1)
    "stable": 0.85,
}
APART = ("workers", "scheduler")


def at(series: str, name: str) -> Point:
    return {"scheduler_said": series, "workers": THRESHOLDS[name]}


CLAIMS: dict[str, Predicate] = {
    "stable beyond 100": statements("packet", APART, {"workers": THRESHOLDS["workers"]}, [
        Over("throughput", at(s, x), at(s, "at_80"), "above", THRESHOLDS["stable"])
        for s in ("fifo", "lifo") for x in ("at_100", "at_end")]),
}
