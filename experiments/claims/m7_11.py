# SPDX-License-Identifier: MIT
"""Row M7.11, sections 7.1.1 and 4.4.2 of M: overflow into a global queue, or a chance of it; local
queues that are resized.

The source left the effect open.  Section 4.4.2 says what it expects: that offloading makes the
spawner the bottleneck and resizing does not, and that several queues spare thieves each other.  The
thresholds were written down before anything was run for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at": [[18, 22], [75, 85], [100, 120]], "at_end": [[100, 120]],
    # throughput of one over that of another
    "resized": 1.0, "lock_free": 1.0, "five": 1.0, "horizontal": 1.0, "chance": 1.0,
}
APART = ("workers", "scheduler")
SOURCE = {"workers": THRESHOLDS["workers"]}


def _better(first: str, second: str, name: str, where: str) -> Predicate:
    return statements("packet", APART, SOURCE, [
        Over("throughput", {"scheduler": f"{series}:private=0:{first}", "workers": at},
             {"scheduler": f"{series}:private=0{second}", "workers": at}, "above", THRESHOLDS[name])
        for series in ("fifo", "lifo") for at in THRESHOLDS[where]])


LOCKED, RING, FIVE = (f":full=global:pool={pool}" for pool in ("locked", "ring", "five"))
CLAIMS: dict[str, Predicate] = {
    "a queue that grows beats a locked overflow queue":
        _better("full=grow", LOCKED, "resized", "at"),
    "a lock-free overflow queue beats a locked one":
        _better(RING[1:], LOCKED, "lock_free", "at"),
    "five queues beat one at high counts": _better(FIVE[1:], RING, "five", "at_end"),
    "chained queues beat one that grows at high counts":
        _better("full=chain", ":full=grow", "horizontal", "at_end"),
    "a chance of the global queue helps at high counts":
        _better("chance=100:pool=five", "", "chance", "at_end"),
}
