# SPDX-License-Identifier: MIT
"""What figures and claims of the lock benchmark (B, figures 4.5, 4.6 and 6.3) call those that run it."""
from __future__ import annotations

import pandas as pd

FIBRES = "fibres"
#: two of tenter's own, in the roles of systems that the source compared: µC++, whose ready queue is one for all under a
#: lock; Boost and Qthreads, whose workers never sleep
SHARED, SPINNING = "shared ready queue", "spinning idlers"
THREADS = "threads, tenter's mutex"
PEERS = {"locks-go": "Go", "locks-boost": "Boost.Fiber"}
PTHREADS = "pthreads"
ALL = (FIBRES, SHARED, SPINNING, PTHREADS, THREADS, *PEERS.values())


def _name(row: pd.Series) -> str:
    if row["program"] in PEERS:
        return PEERS[row["program"]]
    if row.get("by") == "thread":
        return PTHREADS if row.get("design") == "pthread" else THREADS
    if row.get("scheduler_said") == "skeleton":
        return SHARED
    return SPINNING if row.get("TENTER_IDLE") == "spin" else FIBRES


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the benchmark, with the columns `who` and `other`, which is as `critical` where it is not given."""
    mine = frame[frame["program"].astype(str).str.match("locks(-|$)")]
    if mine.empty or "critical" not in mine:
        return mine.iloc[:0].assign(who=[], critical=[], other=[])
    other = mine["other"].fillna(mine["critical"]) if "other" in mine else mine["critical"]
    return mine.assign(who=mine.apply(_name, axis=1), other=other)
