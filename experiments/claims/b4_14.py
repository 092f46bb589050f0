# SPDX-License-Identifier: MIT
"""Row B4.14, figure 4.14 of B: the key-value server on the runtime with one thing changed, by cores.

The thresholds were written down before anything was measured. The source has one to sixteen cores, and says that what stealing
brings grows with them: few cores do not decide.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.models.caches import BATON, LOCKED, NO_STEALING, PINNED, PLAIN, named_variants
from experiments.runner.claims import Predicate, Undecidable, Verdict
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    # [least, greatest] numbers of cores
    "workers": [8, 64], "connections": [6000, 60000],
    # what does not matter is within this factor of the runtime as it is; what does is behind it by more
    "matters": 1.1,
}
APART = ("server", "scheduler", "pin", "workers", "mutex", "TENTER_IDLE", "who")


def over(who: str, bound: str, limit: float) -> Over:
    first, second = ({"who": name, "workers": THRESHOLDS["workers"], "connections": THRESHOLDS["connections"]} for name in (who, PLAIN))
    return Over("throughput", first, second, bound, limit)


def judged(frame: pd.DataFrame) -> Verdict:
    if "server" not in frame:
        raise Undecidable("no factor server in the data")
    return JUDGE(named_variants(frame))


JUDGE = statements("loadgen", APART, {}, [
    *(over(who, "alike", THRESHOLDS["matters"]) for who in (PINNED, LOCKED)),
    *(over(who, "below", 1 / THRESHOLDS["matters"]) for who in (NO_STEALING, BATON))])
CLAIMS: dict[str, Predicate] = {"only no-stealing and baton passing matter": judged}
