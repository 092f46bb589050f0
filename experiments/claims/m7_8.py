# SPDX-License-Identifier: MIT
"""Row M7.8, section 7.1.1 of M: a bias against stealing fewer than 10, rarely but not never.

The thresholds were written down before anything was run for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    # where it is judged: where the source has its maxima, and at its end
    "at": [[18, 22], [75, 85], [100, 120]],
    # throughput with the bias over that without: no gain below the first, worse below the second
    "gain": 1.05, "worse": 0.95,
    # tries to steal with the bias over those without
    "contention": 1.0,
}
APART = ("workers", "scheduler")


def _with_over_without(metric: str, bound: str, limit: float) -> Predicate:
    parts = [Over(metric, {"scheduler": f"{series}:private=0:least=10", "workers": at},
                  {"scheduler": f"{series}:private=0", "workers": at}, bound, limit)
             for series in ("fifo", "lifo") for at in THRESHOLDS["at"]]
    return statements("packet", APART, {"workers": THRESHOLDS["workers"]}, parts)


CLAIMS: dict[str, Predicate] = {
    "no gain from undisturbed victims":
        _with_over_without("throughput", "below", THRESHOLDS["gain"]),
    "contention up":
        _with_over_without("counter_steal_try", "above", THRESHOLDS["contention"]),
    "worse": _with_over_without("throughput", "below", THRESHOLDS["worse"]),
}
