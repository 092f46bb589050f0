# SPDX-License-Identifier: MIT
"""Row M6.5, section 6.5 of M: what reading the clock in each task costs the packet server.

The source leaves the section open; what "visible" means was written down before the measurement.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (HOLDS, Predicate, Undecidable, Verdict, all_of, below, figure,
                                       interval_text, native)

THRESHOLDS: dict[str, Any] = {
    # throughput with the dearest clock over that with the cheapest, at each number of workers
    "visible_share": 0.98, "dearest": "syscall", "cheapest": "tsc",
}
APART = ("workers", "clock")


def visible(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "packet", APART)
    if "clock" not in good:
        raise Undecidable("no factor clock in the data")
    good = good[good["clock"].notna()]
    parts, seen = [], {}
    for workers, group in sorted(good.groupby("workers")):
        rate = {c: stats.by_block(g, "throughput") for c, g in group.groupby("clock")}
        missing = [THRESHOLDS[n] for n in ("dearest", "cheapest") if THRESHOLDS[n] not in rate]
        if missing:
            raise Undecidable(f"no point of clock {', '.join(missing)} with {workers:g} workers")
        first, second = rate[THRESHOLDS["dearest"]], rate[THRESHOLDS["cheapest"]]
        parts.append(below(stats.ratio(first, second), THRESHOLDS["visible_share"],
                           f"throughput of syscall over tsc with {workers:g} workers"))
        for a, b in (("vdso", "tsc"), ("tsc", "none")):
            if a in rate and b in rate:
                seen[f"throughput of {a} over {b} with {workers:g} workers"] = \
                    stats.ratio(rate[a], rate[b])
    verdict = all_of(parts)
    verdict.judged_by.update({name: figure(e) for name, e in seen.items()})
    if verdict.verdict == HOLDS and seen:
        verdict.why += "; besides, " + "; ".join(f"{name} {interval_text(e)}"
                                                 for name, e in seen.items())
    return verdict


CLAIMS: dict[str, Predicate] = {"visible in throughput": visible}
