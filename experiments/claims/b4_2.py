# SPDX-License-Identifier: MIT
"""Row B4.2, figure 4.2 of B: a fibre of the web server yields before it reads, by pipelining and cores.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, native
from experiments.runner.points import Over, Point, statements, take

THRESHOLDS: dict[str, Any] = {
    "depth": [1, 4],
    # [least, greatest] numbers of cores
    "few": [1, 2], "many": [8, 64],
    # "raises" is any more than this, and so is "grows"
    "more": 1.0,
}
APART = ("TENTER_POLLER", "depth", "workers")
AT_ONCE, YIELDS = "fibre:yield=off", "fibre:yield=on"


def at(poller: str, depth: int, cores: str) -> Point:
    return {"TENTER_POLLER": poller, "depth": depth, "workers": THRESHOLDS[cores]}


def grows(frame: pd.DataFrame) -> Verdict:
    good, parts = native(frame, "loadgen", APART), []
    for depth in THRESHOLDS["depth"]:
        values = {(poller, cores): take(good, "throughput", at(poller, depth, cores))[0]
                  for cores in ("few", "many") for poller in (AT_ONCE, YIELDS)}
        gain = stats.ratio(values[YIELDS, "many"] * values[AT_ONCE, "few"],
                           values[YIELDS, "few"] * values[AT_ONCE, "many"])
        parts.append(above(gain, THRESHOLDS["more"], f"gain with many cores over that with few, depth {depth}"))
    return all_of(parts)


CLAIMS: dict[str, Predicate] = {
    "yielding raises throughput": statements(
        "loadgen", APART, {},
        [Over("throughput", at(YIELDS, depth, "few"), at(AT_ONCE, depth, "few"), "above", THRESHOLDS["more"])
         for depth in THRESHOLDS["depth"]]),
    "the difference grows with cores": grows,
}
