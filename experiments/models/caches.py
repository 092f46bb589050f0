# SPDX-License-Identifier: MIT
"""Who serves, in the rows of the cache: a way to poll, loops, threads, or a peer."""
from __future__ import annotations

from typing import Sequence

import pandas as pd

from experiments.runner.claims import Predicate, Undecidable, Verdict
from experiments.runner.points import Over, statements

FIBRE, WORKER, LOOP, SLEEP, OPPORTUNISTIC = "fibre", "worker", "loop", "loop-sleep", "opportunistic"
MS_1, MS_10 = "timeout-1ms", "timeout-10ms"
EVENTS, THREADS, MEMCACHED = "events", "pthread", "memcached"
#: behind a way to poll: with that mutex in place of the default
SPIN_BLOCK = ", spin-block"
#: how requests come: as fast as they are answered, or at a rate
CLOSED, OPEN = "closed", "open"
#: as TENTER_POLLER says it; without, the poller of the build
POLLERS = {"thread:mode=loop": LOOP, "thread:mode=loop-sleep:us=1000": SLEEP, "thread:mode=opportunistic": OPPORTUNISTIC,
           "thread:mode=opportunistic-timeout:us=1000": MS_1, "thread:mode=opportunistic-timeout:us=10000": MS_10}
SERVERS = {"kvcache-event": EVENTS, "kvcache-pthread": THREADS, "kvcache-memcached": MEMCACHED}
ALL = [FIBRE, WORKER, *POLLERS.values(), *SERVERS.values()]
MUTEX = "kvcache --mutex "
#: one runtime, and what is changed in it
PLAIN, PINNED, LOCKED, NO_STEALING, BATON = "as it is", "pinned", "locked queue", "no stealing", "baton"


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column `who`, which names the mutex where it is not the default, and `load`; rows of others are left out."""
    nothing = pd.Series(index=frame.index, dtype=object)
    frame = frame.assign(TENTER_POLLER=frame.get("TENTER_POLLER", nothing), poller=frame.get("poller", nothing),
                         load=frame.get("rate", nothing).isna().map({True: CLOSED, False: OPEN}))
    server = frame["server"].astype(str)
    mutex = server.where(server.str.startswith(MUTEX), MUTEX).str[len(MUTEX):]
    of_poller = frame["TENTER_POLLER"].map(POLLERS).where(frame["TENTER_POLLER"].notna(), frame["poller"].map({p: p for p in (FIBRE, WORKER)}))
    fibres = of_poller + mutex.map(lambda m: f", {m}" if m else "")
    who = fibres.where(server.str.startswith(MUTEX) | server.eq("kvcache"), server.map(SERVERS))
    return frame.assign(who=who)[who.notna()]


def of_named(apart: Sequence[str], parts: Sequence[Over]) -> Predicate:
    """All statements, about points that are told by `who`."""
    judge = statements("loadgen", apart, {}, parts)

    def judged(frame: pd.DataFrame) -> Verdict:
        if "server" not in frame:
            raise Undecidable("no factor server in the data")
        return judge(named(frame))
    return judged


def named_variants(frame: pd.DataFrame) -> pd.DataFrame:
    """With a column `who`, which is what is changed in the runtime."""
    scheduler, pin = frame["scheduler"].astype(str), frame.get("pin", pd.Series(index=frame.index, dtype=object))
    who = pd.Series(PLAIN, index=frame.index)
    for name, where in ((BATON, frame["server"].eq(MUTEX + "baton")), (LOCKED, scheduler.str.contains("queue=locked")),
                        (NO_STEALING, scheduler.str.contains("steal=stuck")), (PINNED, pin.astype(str).str.lower().eq("true"))):
        who = who.mask(where, name)
    return frame.assign(who=who)
