# SPDX-License-Identifier: MIT
"""Row M7.15, section 2.4.3 of M: wavefronts of promises.

The source only says that the pattern in which tasks are spawned is interesting.  It is judged where each block spawns those
after it: there the newest fibre needs what the running one has just written, which is what an order has locality by.  The
thresholds were written down before anything was measured or simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    # where it is judged: the side of a block that is there nearest to the middle of it
    "side": [8, 24],
    # better: lifo's throughput over fifo's is more than this, for both tables
    "better": 1.02,
}
APART = ("scheduler", "side", "problem", "spawn")


def at(series: str, problem: str) -> Point:
    return {"scheduler_said": series, "problem": problem, "spawn": "next", "side": THRESHOLDS["side"]}


CLAIMS: dict[str, Predicate] = {
    "lifo better on locality": statements("wavefront", APART, {}, [
        Over("throughput", at("lifo", problem), at("fifo", problem), "above", THRESHOLDS["better"])
        for problem in ("put", "align")]),
}
