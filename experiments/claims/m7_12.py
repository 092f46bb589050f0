# SPDX-License-Identifier: MIT
"""Row M7.12, section 7.1.2 of M: a working set a connection.

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
    # better: lifo's throughput over fifo's is more than this
    "better": 1.02,
}
APART = ("workers", "scheduler")


def at(series: str) -> Point:
    return {"scheduler_said": series, "workers": THRESHOLDS["at"]}


CLAIMS: dict[str, Predicate] = {
    "lifo better": statements("packet", APART, {"workers": THRESHOLDS["workers"]}, [
        Over("throughput", at("lifo"), at("fifo"), "above", THRESHOLDS["better"])]),
}
