# SPDX-License-Identifier: MIT
"""Caches under the workload ETC: requests by pipelining, and the tail at one rate, against the share of writes (B, figures 4.15 to 4.18)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
from experiments.models import caches

NAME = "cache_b4_15"
PANELS = [factors.Panel("requests, one under way", "throughput, 1", "1/s", "linear"),
          factors.Panel("requests, 16 under way", "throughput, 16", "1/s", "linear"),
          factors.Panel("latency at one rate, ETC's gaps", "latency_p90, 1, open", "p90 (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Of the most cores that all have; the metric says which load it is of."""
    good = caches.named(frame)
    good = good[~good["oversubscribed"]]
    good = good[good["workers"].eq(good["workers"].max())]
    load = good["depth"].map(lambda n: f", {n:g}") + good["load"].map({caches.CLOSED: "", caches.OPEN: ", open"})
    return good.assign(label=good["who"], metric=good["metric"] + load)


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "writes", prepare, caches.ALL)
    factors.draw(data, out, NAME, PANELS, "share of writes")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
