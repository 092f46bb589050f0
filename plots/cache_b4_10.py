# SPDX-License-Identifier: MIT
"""Caches: requests, processor time and tails against the share of writes (B, figures 4.10 to 4.13)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
from experiments.models import caches

NAME = "cache_b4_10"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear"),
          factors.Panel("latency, tail", "latency_p99", "p99 (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Of the fewest connections, and of the most cores that all have."""
    good = caches.named(frame)
    good = good[good["connections"].eq(good["connections"].min()) & ~good["oversubscribed"]]
    good = good[good["workers"].eq(good["workers"].max())]
    return good.assign(label=good["who"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "writes", prepare, caches.ALL)
    factors.draw(data, out, NAME, PANELS, "share of writes")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
