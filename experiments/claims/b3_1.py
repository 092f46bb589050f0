# SPDX-License-Identifier: MIT
"""Row B3.1, section 3.2.2 of B: a fibre that has been stolen goes back to its former worker when it
is woken (transient, that work's default), or stays with the thief (sticky, with a threshold).

The thresholds were written down before anything was run for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (Predicate, Undecidable, Verdict, above, all_of, at_each,
                                       below, native)
from experiments.runner.points import take

THRESHOLDS: dict[str, Any] = {
    # sticky over transient: the turns of the worker that has most, over the mean
    "balances": 0.95,
    # transient over sticky: turns on the worker that the fibre was spawned on
    "keeps": 1.05,
}
APART = ("workers", "scheduler", "TENTER_IDLE")
TRANSIENT, STICKY = "fifo:place=owner", "fifo:place=owner:sticky=1"


def sticky_or_transient(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "affinity", APART)
    parts = []
    for workers, part in at_each(good, "workers"):
        if workers < 2:                                  # alone, nobody steals
            continue

        def values(metric: str, spec: str, rows: pd.DataFrame = part) -> pd.Series:
            return take(rows, metric, {"scheduler": spec})[0]

        where = f"at {workers:g} workers"
        parts += [below(stats.ratio(values("imbalance", STICKY), values("imbalance", TRANSIENT)),
                        THRESHOLDS["balances"], f"imbalance, sticky over transient {where}"),
                  above(stats.ratio(values("at_home", TRANSIENT), values("at_home", STICKY)),
                        THRESHOLDS["keeps"], f"turns at home, transient over sticky {where}")]
    if not parts:
        raise Undecidable("needs two workers, of which one steals")
    return all_of(parts)


CLAIMS: dict[str, Predicate] = {"sticky balances, transient keeps affinity": sticky_or_transient}
