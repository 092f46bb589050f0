# SPDX-License-Identifier: MIT
"""Row H4, §3.3.9 of H: stacks by mmap, by malloc, and kept.

The thresholds were written down before anything was measured.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import (Predicate, Verdict, above, all_of, at_each, below,
                                       in_short, levels, native, span)

THRESHOLDS: dict[str, Any] = {
    # mmap is costly where making a fibre takes at least this many times as long as with malloc
    "costly": 2.0,
    # what is kept is best where it takes less than either of the others
    "best": 1.0,
}


def costs(frame: pd.DataFrame) -> Verdict:
    parts, over = [], []
    for n, good in at_each(native(frame, "stacks", ("stacks", "workers", "fibres")), "fibres"):
        kept, mapped, allocated = levels(good, "create_again", "stacks",
                                         ("pooled", "mmap", "malloc"))
        name = f"time a fibre, {n:g} fibres, "
        over.append((stats.ratio(mapped, allocated), stats.ratio(kept, allocated),
                     stats.ratio(kept, mapped)))
        parts += [above(over[-1][0], THRESHOLDS["costly"], name + "mmap/malloc"),
                  below(over[-1][1], THRESHOLDS["best"], name + "kept/malloc"),
                  below(over[-1][2], THRESHOLDS["best"], name + "kept/mmap")]
    costly, allocated, mapped = (span(ratios) for ratios in zip(*over))
    return in_short(all_of(parts), f"time a fibre at {len(over)} numbers of fibres: mmap/malloc "
                    f"{costly}, kept/malloc {allocated}, kept/mmap {mapped}")


CLAIMS: dict[str, Predicate] = {"mmap costly, caching best": costs}
