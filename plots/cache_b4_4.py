# SPDX-License-Identifier: MIT
"""Cache under each poller: requests and latency against requests under way on a connection (B, figure 4.4)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
from experiments.models import caches

NAME = "cache_b4_4"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("latency, median", "latency_median", "median (log)", "log"),
          factors.Panel("latency, tail", "latency_p99", "p99 (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    good = caches.named(frame)
    return good.assign(label=good["who"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "depth", prepare, caches.ALL)
    factors.draw(data, out, NAME, PANELS, "pipelining")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
