# SPDX-License-Identifier: MIT
"""A cache on the runtime with one thing changed: requests, processor time and tails against cores (B, figure 4.14)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
from experiments.models import caches

NAME = "cache_b4_14"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear"),
          factors.Panel("latency, tail", "latency_p99", "p99 (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    good = caches.named_variants(frame)
    return good.assign(label=good["who"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "workers", prepare,
                        [caches.PLAIN, caches.PINNED, caches.LOCKED, caches.NO_STEALING, caches.BATON])
    factors.draw(data, out, NAME, PANELS, "cores")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
