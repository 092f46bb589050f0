# SPDX-License-Identifier: MIT
"""Percentiles of histograms: which of them may be said, and what they are."""
from __future__ import annotations

import math
from typing import Iterable

import numpy as np
import pandas as pd

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)

Buckets = Iterable[Iterable[float]]


def samples_needed(percent: float) -> int:
    """A percentile p is given only with at least 10/(1-p) samples."""
    return math.ceil(round(10.0 / (1.0 - percent / 100.0), 6))


def percentile(buckets: Buckets, percent: float) -> float | None:
    """Highest value of the bucket that holds the percentile; None with too few samples."""
    table = np.asarray(sorted(tuple(b) for b in buckets), dtype=float)
    if table.size == 0:
        return None
    counts = table[:, 2]
    total = counts.sum()
    if total < samples_needed(percent):
        return None
    rank = max(1.0, math.ceil(round(percent / 100.0 * total, 6)))
    return float(table[np.searchsorted(np.cumsum(counts), rank), 1])


def percentile_name(metric: str, percent: float, unit: str) -> str:
    digits = f"{percent:g}".replace(".", "_")
    return f"{metric}_p{digits}_{unit}"


def merge(hists: Iterable[Buckets]) -> list[list[float]]:
    """One histogram out of several of the same layout: counts of equal buckets are added."""
    total: dict[tuple[float, float], float] = {}
    for hist in hists:
        for low, high, count in hist:
            key = (float(low), float(high))
            total[key] = total.get(key, 0.0) + float(count)
    return [[low, high, count] for (low, high), count in sorted(total.items())]


def count_matrix(hist: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Histograms of one cell as a matrix (invocations x buckets), and each bucket's high end."""
    highs, column = np.unique(hist["high"].to_numpy(dtype=float), return_inverse=True)
    each, line = np.unique(hist["invocation"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(each), len(highs)))
    np.add.at(counts, (line, column), hist["count"].to_numpy(dtype=float))
    return counts, highs
