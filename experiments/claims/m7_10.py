# SPDX-License-Identifier: MIT
"""Row M7.10, section 7.1.1 of M: tickets of busy workers in a lock-free queue.

The source planned this and did not measure it.  What it expects: that it closes the information gap
of blind stealing, and leaves those alone that are neither overloaded nor idle.  The thresholds were
written down before anything was run for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    # where blind stealing finds the spawner less and less often
    "at": [[75, 85], [100, 120]],
    # throughput over that of blind stealing; over that of requests at random
    "better": 1.0, "better_than_requests": 1.0,
    # tries for each hit, over those of blind stealing
    "misses": 0.5,
}
APART = ("workers", "scheduler")
SOURCE = {"workers": THRESHOLDS["workers"]}


def _over(metric: str | tuple[str, str], other: str, bound: str, limit: float) -> Predicate:
    return statements("packet", APART, SOURCE, [
        Over(metric, {"scheduler": f"{series}:private=0:request=ticket", "workers": at},
             {"scheduler": f"{series}:private=0{other}", "workers": at}, bound, limit)
        for series in ("fifo", "lifo") for at in THRESHOLDS["at"]])


CLAIMS: dict[str, Predicate] = {
    "tickets beat blind stealing at high counts":
        _over("throughput", "", "above", THRESHOLDS["better"]),
    "tickets beat requests to a random worker":
        _over("throughput", ":request=once", "above", THRESHOLDS["better_than_requests"]),
    "fewer than half as many tries for each steal":
        _over(("counter_steal_try", "counter_steal_hit"), "", "below", THRESHOLDS["misses"]),
}
