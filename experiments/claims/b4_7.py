# SPDX-License-Identifier: MIT
"""Row B4.7, figures 4.7 to 4.9 of B: the web server by fibres, by copies of a loop, by threads and in Go.

The thresholds were written down before anything was measured. The last claim is read as: a connection takes a loop 8 KB and fibres
12 KB.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, all_of, below, native
from experiments.runner.points import Over, Point, statements, take

THRESHOLDS: dict[str, Any] = {
    # [least, greatest] numbers of cores, and of connections: the source has up to a million
    "few": [1, 2], "many": [8, 64], "connections": [1000, 60000],
    # "≈": within this factor; "behind", "below": less than all of it
    "about": 1.25, "behind": 1.0,
    # 12 KB over 8 KB, within this factor
    "memory": 1.5,
}
APART = ("server", "scheduler", "connections", "workers")
FIBRES, LOOPS, THREADS, GO = "httpd", "httpd-event --copies", "httpd-pthread", "httpd-go"


def at(server: str, cores: str = "few") -> Point:
    return {"server": server, "workers": THRESHOLDS[cores], "connections": THRESHOLDS["connections"]}


def memory(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "loadgen", APART)
    fibres, loops = (take(good, "memory", at(server))[0] for server in (FIBRES, LOOPS))
    return all_of([below(stats.ratio(fibres, loops * 1.5), THRESHOLDS["memory"], "fibres over loops, over 12/8"),
                   below(stats.ratio(loops * 1.5, fibres), THRESHOLDS["memory"], "12/8 over fibres over loops")])


def gap(frame: pd.DataFrame) -> Verdict:
    """What threads reach of what fibres do: less than all with few cores, and less yet with many."""
    good = native(frame, "loadgen", APART)
    few, many = ({server: take(good, "throughput", at(server, cores))[0] for server in (THREADS, FIBRES)}
                 for cores in ("few", "many"))
    return all_of([
        below(stats.ratio(few[THREADS], few[FIBRES]), THRESHOLDS["behind"], "threads over fibres, few cores"),
        below(stats.ratio(many[THREADS] * few[FIBRES], many[FIBRES] * few[THREADS]), THRESHOLDS["behind"],
              "that with many cores over that with few")])


CLAIMS: dict[str, Predicate] = {
    "fibre ≈ events": statements("loadgen", APART, {}, [
        Over("throughput", at(FIBRES), at(LOOPS), "alike", THRESHOLDS["about"])]),
    "pthreads behind, gap grows with cores": gap,
    "Go below pthreads": statements("loadgen", APART, {}, [
        Over("throughput", at(GO), at(THREADS), "below", THRESHOLDS["behind"])]),
    "8 KB against 12 KB": memory,
}
