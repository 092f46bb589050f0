# SPDX-License-Identifier: MIT
"""Row H1, §4.4 of H: the web server under a quota, by fibres, by loops and by threads, to 16 000 clients that wait for 20 s.

The thresholds were written down before anything was measured. A request that is given up counts in the mean as long as it waited.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    # [least, greatest] numbers of clients
    "least": [250, 1000], "at 4000": [4000, 4000], "most": [16000, 16000],
    # "flat": within this factor of what it is with the fewest
    "flat": 1.25,
    # mean latency of threads over that of the others, of which 25 s over 5 s is 5, and that of the others in ns
    "threads": 3.0, "others": 7.5e9,
    # 7.5 % of time-outs, within a factor of two
    "timeouts": [0.0375, 0.15],
    # "overtake": more than that
    "overtake": 1.0,
}
APART = ("server", "scheduler", "connections")
FIBRES, LOOPS, THREADS = "httpd", "httpd-event --copies", "httpd-pthread"


def at(server: str, clients: str) -> Point:
    return {"server": server, "connections": THRESHOLDS[clients]}


LEAST, MOST = THRESHOLDS["timeouts"]
CLAIMS: dict[str, Predicate] = {
    "throughput flat for all": statements("loadgen", APART, {}, [
        Over("throughput", at(server, "most"), at(server, "least"), "alike", THRESHOLDS["flat"])
        for server in (FIBRES, LOOPS, THREADS)]),
    "at 16 000 pthreads > 25 s against ≈ 5 s": statements("loadgen", APART, {}, [
        *(Over("latency_mean", at(THREADS, "most"), at(server, "most"), "above", THRESHOLDS["threads"])
          for server in (FIBRES, LOOPS)),
        *(Over("latency_mean", at(server, "most"), None, "below", THRESHOLDS["others"]) for server in (FIBRES, LOOPS))]),
    "at 4000 7.5 % pthread time-outs": statements("loadgen", APART, {}, [
        Over("timeout_share", at(THREADS, "at 4000"), None, "above", LEAST),
        Over("timeout_share", at(THREADS, "at 4000"), None, "below", MOST)]),
    "events overtake fibres at high counts": statements("loadgen", APART, {}, [
        Over("throughput", at(LOOPS, "most"), at(FIBRES, "most"), "above", THRESHOLDS["overtake"])]),
}
