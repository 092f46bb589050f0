# SPDX-License-Identifier: MIT
"""Row M4.5, §4.4.3 of M: blocking calls, annotated against a monitor thread.

The source describes both ways, calls both feasible, and measured neither.  What one would expect
of them is stated here; the thresholds were written down before anything was judged by them.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Undecidable, Verdict, above, alike, below, native

THRESHOLDS: dict[str, Any] = {
    # microseconds in the kernel of a call that counts as long (for the monitor's period of 200),
    # as shorter than that period, and as hardly blocking
    "long": 1000, "short": 100, "hardly": 0,
    # steps of the others beside calls about which nothing is done, over those beside annotated ones
    "stopped": 0.5,
    # steps of the others under the monitor over those where nothing is done
    "monitor_helps": 2.0,
    # annotated over monitor
    "annotated_ahead": 1.0,
    # below its period the monitor makes no difference beyond this factor
    "no_help": 1.5,
    # time of calls that hardly block, annotated over not annotated
    "annotation_costs": 1.2,
}
APART = ("way", "sleep")


def _ratio(frame: pd.DataFrame, metric: str, first: str, second: str, sleep: str,
           ) -> tuple[stats.Estimate, str]:
    good = native(frame, "blocking", APART)
    length = float(THRESHOLDS[sleep])
    values = {}
    for way in (first, second):
        part = good[good["way"].eq(way) & good["sleep"].eq(length) & good["metric"].eq(metric)]
        if part.empty:
            raise Undecidable(f"no {metric} of way={way} at sleep={length:g}")
        values[way] = stats.by_block(part, metric)
    return (stats.ratio(values[first], values[second]),
            f"{metric}, {first} over {second}, at {length:g} µs a call")


def stopped(frame: pd.DataFrame) -> Verdict:
    ratio, name = _ratio(frame, "throughput", "none", "annotated", "long")
    return below(ratio, THRESHOLDS["stopped"], name)


def monitor_helps(frame: pd.DataFrame) -> Verdict:
    ratio, name = _ratio(frame, "throughput", "monitor", "none", "long")
    return above(ratio, THRESHOLDS["monitor_helps"], name)


def annotated_ahead(frame: pd.DataFrame) -> Verdict:
    ratio, name = _ratio(frame, "throughput", "annotated", "monitor", "long")
    return above(ratio, THRESHOLDS["annotated_ahead"], name)


def no_help(frame: pd.DataFrame) -> Verdict:
    ratio, name = _ratio(frame, "throughput", "monitor", "none", "short")
    return alike(ratio, THRESHOLDS["no_help"], name)


def annotation_costs(frame: pd.DataFrame) -> Verdict:
    ratio, name = _ratio(frame, "time", "annotated", "monitor", "hardly")
    return above(ratio, THRESHOLDS["annotation_costs"], name)


CLAIMS: dict[str, Predicate] = {
    "calls that block stop the other fibres where nothing is done about them": stopped,
    "the monitor keeps the others running, without annotations": monitor_helps,
    "annotated calls leave more to the others than the monitor does": annotated_ahead,
    "the monitor is no help against calls shorter than its period": no_help,
    "a call that hardly blocks costs more where it is annotated": annotation_costs,
}
