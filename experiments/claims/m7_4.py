# SPDX-License-Identifier: MIT
"""Row M7.4, figure 7.4 of M: many more packets than in figure 7.1.

Both numbers of packets are simulated at a tenth or less of the source's, and the greater is ten
times the smaller (in the source 200 times).  The thresholds were written down before anything was
simulated for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner.claims import Predicate, Undecidable, Verdict, native
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_30": [28, 32], "at_60": [55, 65], "at_end": [100, 120],
    # throughput with many packets over that with few
    "lower": 1.0,
    # throughput with many, at 60 and at the end, over that at 30: within this factor
    "stable": 1.25,
}
APART = ("workers", "scheduler", "packets")
SOURCE = {"workers": THRESHOLDS["workers"]}
BOTH = ("fifo", "lifo")


def lower_and_stable(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "packet", APART, SOURCE)
    sizes = sorted(set(good["packets"].dropna())) if "packets" in good else []
    if len(sizes) < 2:
        raise Undecidable("needs two numbers of packets")

    def at(series: str, packets: float, name: str) -> Point:
        return {"scheduler_said": series, "packets": packets, "workers": THRESHOLDS[name]}

    few, many = sizes[0], sizes[-1]
    parts = [Over("throughput", at(s, many, x), at(s, few, x), "below", THRESHOLDS["lower"])
             for s in BOTH for x in ("at_30", "at_60", "at_end")]
    parts += [Over("throughput", at(s, many, x), at(s, many, "at_30"), "alike",
                   THRESHOLDS["stable"]) for s in BOTH for x in ("at_60", "at_end")]
    return statements("packet", APART, SOURCE, parts)(frame)


CLAIMS: dict[str, Predicate] = {"lower overall, stable beyond 30": lower_and_stable}
