# SPDX-License-Identifier: MIT
"""Row M7.3, figure 7.3 of M: stalls an instruction.

The source read a hardware counter; here it is the simulator's own account: cycles that the cores
waited for lines, over the instructions that they executed.  The thresholds were written down before
anything was simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_80": [75, 85], "at_end": [100, 120],
    # the source's figure, and that it rises from 80 to the end
    "stalls": 2.5, "rising": 1.0,
    # much subtler: lifo's over fifo's, at 80 and at the end
    "subtler": 0.5,
    # thieves of fifo lose: its steals that hit over those of lifo
    "fewer": 1.0,
}
APART = ("workers", "scheduler")
STALLS = "sim_stalls_per_instruction"


def at(series: str, name: str) -> Point:
    return {"scheduler_said": series, "workers": THRESHOLDS[name]}


SOURCE = {"workers": THRESHOLDS["workers"]}
LATE = ("at_80", "at_end")

CLAIMS: dict[str, Predicate] = {
    "fifo beyond 2.5 past 80 and rising": statements("packet", APART, SOURCE, [
        Over(STALLS, at("fifo", "at_end"), None, "above", THRESHOLDS["stalls"]),
        Over(STALLS, at("fifo", "at_end"), at("fifo", "at_80"), "above", THRESHOLDS["rising"])]),
    "lifo much subtler": statements("packet", APART, SOURCE, [
        Over(STALLS, at("lifo", x), at("fifo", x), "below", THRESHOLDS["subtler"]) for x in LATE]),
    "thieves lose against local dequeues": statements("packet", APART, SOURCE, [
        Over("counter_steal_hit", at("fifo", x), at("lifo", x), "below", THRESHOLDS["fewer"])
        for x in LATE]),
}
