# SPDX-License-Identifier: MIT
"""Who serves, in the rows of the cache: a way to poll, loops, threads, or a peer."""
from __future__ import annotations

import pandas as pd

FIBRE, LOOP, SLEEP, OPPORTUNISTIC = "fibre", "loop", "loop-sleep", "opportunistic"
MS_1, MS_10 = "timeout-1ms", "timeout-10ms"
EVENTS, THREADS, MEMCACHED = "events", "pthread", "memcached"
#: as TENTER_POLLER says it; without, the poller of the build
POLLERS = {"thread:mode=loop": LOOP, "thread:mode=loop-sleep:us=1000": SLEEP, "thread:mode=opportunistic": OPPORTUNISTIC,
           "thread:mode=opportunistic-timeout:us=1000": MS_1, "thread:mode=opportunistic-timeout:us=10000": MS_10}
SERVERS = {"kvcache-event": EVENTS, "kvcache-pthread": THREADS, "kvcache-memcached": MEMCACHED}
ALL = [FIBRE, *POLLERS.values(), *SERVERS.values()]


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column `who`; rows of others are left out."""
    frame = frame.assign(TENTER_POLLER=frame.get("TENTER_POLLER", pd.Series(index=frame.index, dtype=object)),
                         poller=frame.get("poller", pd.Series(index=frame.index, dtype=object)))
    of_poller = frame["TENTER_POLLER"].map(POLLERS).where(frame["TENTER_POLLER"].notna(), frame["poller"].map({"fibre": FIBRE}))
    who = frame["server"].map(SERVERS).where(frame["server"].ne("kvcache"), of_poller)
    return frame.assign(who=who)[who.notna()]
