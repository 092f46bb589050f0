# SPDX-License-Identifier: MIT
"""Row M7.13, section 7.1.3 of M: bimodal service times.

The source has the heading only.  The thresholds were written down before anything was measured or simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [2, 128],
    # where it is judged: what is there that is nearest to the middle of it
    "at": [2, 24],
    # the schedulers' tails differ: lifo, under which what is old waits, has a p99 of more than this times fifo's
    "apart": 1.2,
}
APART = ("workers", "scheduler")


def at(series: str) -> Point:
    return {"scheduler_said": series, "workers": THRESHOLDS["at"]}


CLAIMS: dict[str, Predicate] = {
    "tails by scheduler": statements("packet", APART, {"workers": THRESHOLDS["workers"]}, [
        Over("latency_p99_ns", at("lifo"), at("fifo"), "above", THRESHOLDS["apart"])]),
}
