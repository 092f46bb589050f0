# SPDX-License-Identifier: MIT
"""Row B4.15, figures 4.15 to 4.18 of B: the key-value server with sizes and arrivals as they are in ETC.

The thresholds were written down before anything was measured. Throughput is judged under closed load. The mean latency would be that
again there, since as many requests are always under way; it and p90 are judged where the same requests arrive at all of them, by
ETC's gaps. The source's poller thread is the one that polls in a tight loop. Both mutexes.
"""
from __future__ import annotations

from typing import Any

from experiments.models.caches import CLOSED, EVENTS, FIBRE, LOOP, OPEN, SPIN_BLOCK, THREADS, of_named
from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point

THRESHOLDS: dict[str, Any] = {
    "depth": 1, "writes": 0.1, "workers": [1, 64], "connections": [1000, 60000],
    # "behind", "ahead", "higher" are any more or less than this
    "behind": 1.0, "ahead": 1.0, "higher": 1.0,
}
APART = ("server", "scheduler", "writes", "depth", "workers", "poller", "TENTER_POLLER", "who", "mutex", "rate", "arrivals", "load")
POLLERS = [poller + mutex for poller in (FIBRE, LOOP) for mutex in ("", SPIN_BLOCK)]
LATENCY = ("latency_mean", "latency_p90")


def at(who: str, load: str) -> Point:
    return {"who": who, "load": load, **{name: THRESHOLDS[name] for name in ("depth", "writes", "workers", "connections")}}


CLAIMS: dict[str, Predicate] = {
    "at pipeline 1 both pollers behind events, the fibre poller with higher mean and p90": of_named(APART, [
        *(Over("throughput", at(who, CLOSED), at(EVENTS, CLOSED), "below", THRESHOLDS["behind"]) for who in POLLERS),
        *(Over(metric, at(FIBRE + mutex, OPEN), at(EVENTS, OPEN), "above", THRESHOLDS["higher"])
          for mutex in ("", SPIN_BLOCK) for metric in LATENCY)]),
    "both ahead of pthreads": of_named(APART, [
        *(Over("throughput", at(who, CLOSED), at(THREADS, CLOSED), "above", THRESHOLDS["ahead"]) for who in POLLERS),
        *(Over(metric, at(who, OPEN), at(THREADS, OPEN), "below", THRESHOLDS["ahead"]) for who in POLLERS for metric in LATENCY)]),
}
