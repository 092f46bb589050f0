# SPDX-License-Identifier: MIT
"""Row M7.9, section 7.1.1 of M: a busy worker has one drawn at random steal from it, once or until
another overrides it.

The thresholds were written down before anything was run for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at": [[18, 22], [75, 85], [100, 120]],
    # throughput with requests over that with plain stealing: highly negative below this
    "negative": 0.8,
    # of the steals that were asked for, so many find anything: a stampede below this, for the
    # others come too late, or to each other
    "found": 0.5,
}
APART = ("workers", "scheduler")
SOURCE = {"workers": THRESHOLDS["workers"]}
ASKED = [(f"{series}:private=0:request={kind}", f"{series}:private=0", at)
         for series in ("fifo", "lifo") for kind in ("once", "sticky") for at in THRESHOLDS["at"]]

CLAIMS: dict[str, Predicate] = {
    "highly negative": statements("packet", APART, SOURCE, [
        Over("throughput", {"scheduler": spec, "workers": at}, {"scheduler": plain, "workers": at},
             "below", THRESHOLDS["negative"]) for spec, plain, at in ASKED]),
    "stampedes": statements("packet", APART, SOURCE, [
        Over(("counter_forced", "counter_request"), {"scheduler": spec, "workers": at}, None,
             "below", THRESHOLDS["found"]) for spec, _plain, at in ASKED]),
}
