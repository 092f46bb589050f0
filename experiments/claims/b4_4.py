# SPDX-License-Identifier: MIT
"""Row B4.4, figure 4.4 of B: the key-value server under each poller, by pipelining, on one core.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any, Sequence

from experiments.models.caches import EVENTS, FIBRE, LOOP, MS_1, MS_10, OPPORTUNISTIC, SLEEP, of_named
from experiments.runner.claims import Predicate
from experiments.runner.points import Over

THRESHOLDS: dict[str, Any] = {
    # requests under way on a connection
    "low": [1, 2], "middle": [4, 8, 16], "from_4": [4, 8, 16, 32], "most": 32,
    # "worst": of less throughput than each other one, "best": of more; "long tails": that much longer
    "worst": 1.0, "best": 1.0, "tail": 1.5,
}
APART = ("server", "scheduler", "depth", "poller", "TENTER_POLLER", "who")
GOOD, BAD = (FIBRE, SLEEP, MS_1), (OPPORTUNISTIC, MS_10)


def over(metric: str, firsts: Sequence[str], seconds: Sequence[str], depths: Sequence[int], bound: str, limit: float) -> list[Over]:
    """Each of the first over each of the second, at each depth."""
    return [Over(metric, {"who": first, "depth": depth}, {"who": second, "depth": depth}, bound, limit)
            for depth in depths for first in firsts for second in seconds]


CLAIMS: dict[str, Predicate] = {
    "opportunistic and 10 ms worst, long tails": of_named(APART,
        over("throughput", BAD, (*GOOD, LOOP), THRESHOLDS["middle"], "below", THRESHOLDS["worst"])
        + over("latency_p99", BAD, GOOD, THRESHOLDS["middle"], "above", THRESHOLDS["tail"])),
    "loop best at 1–2": of_named(APART,
        over("throughput", (LOOP,), (*GOOD, *BAD), THRESHOLDS["low"], "above", THRESHOLDS["best"])),
    "fibre, sleep, 1 ms best from 4": of_named(APART,
        over("throughput", GOOD, (LOOP, *BAD), THRESHOLDS["from_4"], "above", THRESHOLDS["best"])),
    "events worst of all at 32": of_named(APART,
        over("throughput", (EVENTS,), (*GOOD, *BAD, LOOP), [THRESHOLDS["most"]], "below", THRESHOLDS["worst"])),
}
