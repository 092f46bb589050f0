# SPDX-License-Identifier: MIT
"""Row T1, a goal of this project: what a task costs under each module, beside threads and Go.

The goals were set in nanoseconds on a machine on which Go was measured too, so they are judged as ratios to Go in the same
run.  They, and what is asked of every module, were written down before anything was judged by them.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats, tidy
from experiments.runner.claims import Predicate, Undecidable, Verdict, all_of, below, in_short, shown, span

THRESHOLDS: dict[str, Any] = {
    # by workers and case: the goal over what Go took, ns
    "goals": {1: {"yield_2": 12 / 64, "yield_1000": 12 / 64, "spawn_join": 40 / 357, "spawn_join_100": 40 / 163,
                  "ping_pong": 90 / 249, "fork_join": 60 / 909},
              2: {"spawn_join": 70 / 336, "fork_join": 40 / 900}},
    # of the modules whose queues are each worker's own
    "local": ["fifo", "lifo"],
    # a task is a fibre: spawned, run, joined
    "task": ["spawn_join", "spawn_join_100"],
    # every module over threads of the system; on one worker over fifo, which shares nothing that others do not share
    "threads": 0.1, "fifo": 2.0,
}
PROGRAM = "micro"
PEERS = ("go", "pthread")


def _usable(frame: pd.DataFrame) -> pd.DataFrame:
    good = tidy.usable(frame)
    good = good[~good["oversubscribed"]]
    if not good["program"].eq(PROGRAM).any():
        raise Undecidable("no usable row of micro within the cores")
    return good


def _of(good: pd.DataFrame, name: str, workers: int, case: str) -> pd.Series:
    """The values by block of a module (its spelling in the matrix) or of a peer."""
    mine = good["program"].eq(f"{PROGRAM}-{name}") if name in PEERS else good["program"].eq(PROGRAM) & good["scheduler"].eq(name)
    part = good[mine & good["workers"].eq(workers) & good["metric"].eq(case)]
    if part.empty:
        raise Undecidable(f"no {case} of {name} with {workers:g} worker{'s' if workers > 1 else ''}")
    return stats.by_block(part, case)


def _below(good: pd.DataFrame, first: str, second: str, workers: int, case: str, limit: float) -> tuple[stats.Estimate, Verdict]:
    ratio = stats.ratio(_of(good, first, workers, case), _of(good, second, workers, case))
    return ratio, below(ratio, round(limit, 3), f"{case} with {workers:g}: {first} over {second}")


def _modules(good: pd.DataFrame) -> list[str]:
    return sorted(good.loc[good["program"].eq(PROGRAM), "scheduler"].unique())


def _all(judged: list[tuple[stats.Estimate, Verdict]], text: str) -> Verdict:
    return in_short(all_of([v for _r, v in judged]), f"{len(judged)} ratios, {span([r for r, _v in judged])}: {text}")


def goals(frame: pd.DataFrame) -> Verdict:
    good = _usable(frame)
    here = [n for n in THRESHOLDS["goals"] if good["workers"].eq(n).any()]
    if 1 not in here:
        raise Undecidable(f"no point with one worker, only with {shown(good['workers'].unique())}")
    return _all([_below(good, module, "go", workers, case, limit) for module in THRESHOLDS["local"] for workers in here
                 for case, limit in THRESHOLDS["goals"][workers].items()], "each below its goal")


def ahead_of_threads(frame: pd.DataFrame) -> Verdict:
    good = _usable(frame)
    return _all([_below(good, module, "pthread", workers, case, THRESHOLDS["threads"]) for module in _modules(good)
                 for workers in sorted(good.loc[good["program"].eq(PROGRAM), "workers"].unique()) for case in THRESHOLDS["task"]],
                f"each below {THRESHOLDS['threads']:g}")


def near_fifo(frame: pd.DataFrame) -> Verdict:
    good = _usable(frame)
    return _all([_below(good, module, "fifo", 1, case, THRESHOLDS["fifo"]) for module in _modules(good) if module != "fifo"
                 for case in THRESHOLDS["task"]], f"each below {THRESHOLDS['fifo']:g}")


CLAIMS: dict[str, Predicate] = {
    "fifo and lifo reach their goals": goals,
    "a task costs less than a tenth of a thread under every module": ahead_of_threads,
    "with one worker no module's task costs twice that of fifo": near_fifo,
}
