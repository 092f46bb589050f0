# SPDX-License-Identifier: MIT
"""Row M7.7, figure 7.7 of M: to steal from the nearest 15 or 20 only, with 500 ns a task.

The thresholds were written down before anything was simulated for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import Predicate, Verdict, above, all_of, native
from experiments.runner.points import Point, because, take

THRESHOLDS: dict[str, Any] = {
    "workers": [4, 120],
    "at_40": [35, 45], "at_end": [100, 120],
    # throughput with the nearest over that with any, at the end
    "wins": 1.0,
    # and that gain over the gain at 40
    "grows": 1.0,
}
APART = ("workers", "scheduler")
ANY = "{}:private=0"
NEAREST = ("{}:private=0:victims=nearest:nearest=15", "{}:private=0:victims=nearest:nearest=20")


def nearest_wins(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "packet", APART, {"workers": THRESHOLDS["workers"]})
    parts, points = [], []
    for series in ("fifo", "lifo"):
        for spec in NEAREST:
            gains = {}
            for name in ("at_40", "at_end"):
                point: Point = {"scheduler": spec.format(series), "workers": THRESHOLDS[name]}
                rival: Point = {**point, "scheduler": ANY.format(series)}
                points += [point, rival] if name == "at_end" else []
                first, said = take(good, "throughput", point)
                gains[name] = (first / take(good, "throughput", rival)[0]).dropna()
            parts.append(above(stats.median(gains["at_end"].to_numpy(dtype=float)),
                               THRESHOLDS["wins"], f"throughput over that with any: {said}"))
            parts.append(above(stats.ratio(gains["at_end"], gains["at_40"]), THRESHOLDS["grows"],
                               f"that gain over the gain at 40: {said}"))
    return because(all_of(parts), good, points)


CLAIMS: dict[str, Predicate] = {"nearest-n wins, most at high counts": nearest_wins}
