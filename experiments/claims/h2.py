# SPDX-License-Identifier: MIT
"""Row H2, §4.4 of H: the web server by fibres, by loops (N-copy) and by threads, on one to four cores.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "one": [1, 1], "four": [4, 4],
    # "alike": within this factor of each other
    "alike": 1.25,
    # "behind": less than this part of what the loops do
    "behind": 0.95,
    # threads: time-outs "stay" (any at all), the mean latency "improves" (less than this part of that on one core)
    "stay": 0.0, "improves": 1.0,
}
APART = ("server", "scheduler", "workers")
FIBRES, LOOPS, THREADS = "httpd", "httpd-event --copies", "httpd-pthread"


def at(server: str, cores: str) -> Point:
    return {"server": server, "workers": THRESHOLDS[cores]}


CLAIMS: dict[str, Predicate] = {
    "alike": statements("loadgen", APART, {}, [
        Over("throughput", at(server, "one"), at(LOOPS, "one"), "alike", THRESHOLDS["alike"])
        for server in (FIBRES, THREADS)]),
    "fibres fall behind at more cores": statements("loadgen", APART, {}, [
        Over("throughput", at(FIBRES, "four"), at(LOOPS, "four"), "below", THRESHOLDS["behind"])]),
    "pthreads' time-outs stay, their mean improves": statements("loadgen", APART, {}, [
        Over("timeouts", at(THREADS, "four"), None, "above", THRESHOLDS["stay"]),
        Over("latency_mean", at(THREADS, "four"), at(THREADS, "one"), "below", THRESHOLDS["improves"])]),
}
