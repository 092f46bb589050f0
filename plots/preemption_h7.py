# SPDX-License-Identifier: MIT
"""Short requests beside long computations, preempted and not (H, sections 3.3.4 and 4.3)"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "preemption_h7"
PANELS = [factors.Panel("half of the requests", "latency_p50_ns", "latency (ns)", "log"),
          factors.Panel("nine tenths", "latency_p90_ns", "latency (ns)", "log"),
          factors.Panel("the batch", "throughput", "steps a second", "linear")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["scheduler_said"].astype(str),
                        period=frame["TENTER_PREEMPT_US"].astype(float))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "mixed", "period", prepare, ())
    factors.draw(data, out, NAME, PANELS, "period (us; 0: never)", more=[
        "One worker. The batch: fibres that compute for 5 ms between two yields; a request "
        "computes for 5 us, and its latency counts from when it was due."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
