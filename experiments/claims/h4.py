# SPDX-License-Identifier: MIT
"""Row H4, §3.3.9 of H: stacks by mmap, by malloc, and kept.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, below, levels, native

THRESHOLDS: dict[str, Any] = {
    # mmap is costly where making a fibre takes at least this many times as long as with malloc
    "costly": 2.0,
    # what is kept is best where it takes less than either of the others
    "best": 1.0,
}


def costs(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "stacks", ("stacks", "workers"))
    kept, mapped, allocated = levels(good, "create_again", "stacks", ("pooled", "mmap", "malloc"))
    return all_of([
        above(stats.ratio(mapped, allocated), THRESHOLDS["costly"], "time a fibre, mmap/malloc"),
        below(stats.ratio(kept, allocated), THRESHOLDS["best"], "time a fibre, kept/malloc"),
        below(stats.ratio(kept, mapped), THRESHOLDS["best"], "time a fibre, kept/mmap")])


CLAIMS: dict[str, Predicate] = {"mmap costly, caching best": costs}
