# SPDX-License-Identifier: MIT
"""The audio mixer: frames that missed their deadline, and latencies, against calls (M, section 2.4.2)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "mixer_m7_14"
PANELS = [factors.Panel("missed", "missed", "share of the frames", "symlog"),
          factors.Panel("median", "latency_p50_ns", "p50, due to sent (log)", "log"),
          factors.Panel("tail", "latency_p99_ns", "p99, due to sent (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    good = frame[frame["codec"].eq("ulaw")]
    return good.assign(label=good["series"].astype(str) + ", by " + good["wait-by"].astype(str), calls=good["calls"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "mixer", "calls", prepare, [])
    factors.draw(data, out, NAME, PANELS, "calls of two legs (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
