# SPDX-License-Identifier: MIT
"""Row B4.10, figures 4.10 to 4.13 of B: the key-value server by the share of requests that store.

The thresholds were written down before anything was measured. The last claim is read as: a connection takes fibres 16 KB and loops
12 KB. Claims of fibres are judged by the mutex that is the default.
"""
from __future__ import annotations

from typing import Any

from experiments.models.caches import EVENTS, FIBRE, SLEEP, THREADS, of_named
from experiments.runner.claims import Predicate
from experiments.runner.points import Metric, Over, Point

THRESHOLDS: dict[str, Any] = {
    "low": 0.1, "high": 0.9, "workers": [1, 64], "connections": [6000, 60000],
    # "alike": within this factor of the loops; "ahead", "worse", "best": any more or less than this
    "alike": 1.25, "ahead": 1.0,
    # "heavy-tailed": p99 over the median, in that of fibres
    "tail": 2.0,
    # 16 KB over 12 KB
    "memory": [1.1, 1.6],
}
APART = ("server", "scheduler", "writes", "connections", "workers", "poller", "TENTER_POLLER", "who", "mutex")


def at(who: str, writes: str) -> Point:
    return {"who": who, "writes": THRESHOLDS[writes], "workers": THRESHOLDS["workers"], "connections": THRESHOLDS["connections"]}


def over(first: str, second: str, writes: str, bound: str, limit: float, metric: Metric = "throughput") -> Over:
    return Over(metric, at(first, writes), at(second, writes), bound, limit)


CLAIMS: dict[str, Predicate] = {
    "alike at ratio 0.1": of_named(APART, [
        over(who, EVENTS, "low", "alike", THRESHOLDS["alike"]) for who in (FIBRE, SLEEP, THREADS)]),
    "fibres ahead of events at high write ratios, poller fibre worse at low and best at high": of_named(APART, [
        over(FIBRE, EVENTS, "high", "above", THRESHOLDS["ahead"]), over(SLEEP, EVENTS, "high", "above", THRESHOLDS["ahead"]),
        over(FIBRE, SLEEP, "low", "below", THRESHOLDS["ahead"]), over(FIBRE, SLEEP, "high", "above", THRESHOLDS["ahead"])]),
    "pthreads heavy-tailed": of_named(APART, [
        over(THREADS, FIBRE, "high", "above", THRESHOLDS["tail"], ("latency_p99", "latency_median"))]),
    "16 KB against 12 KB": of_named(APART, [
        over(FIBRE, EVENTS, "low", bound, limit, "memory")
        for bound, limit in zip(("above", "below"), THRESHOLDS["memory"])]),
}
