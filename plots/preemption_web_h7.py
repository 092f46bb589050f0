# SPDX-License-Identifier: MIT
"""Web servers of which some requests compute for long: latency by fibres that are preempted and not, by loops, by threads (H, section 4.3)"""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "preemption_web_h7"
PANELS = [factors.Panel(title, f"latency_{p}_ns", "latency (ns)", "log")
          for title, p in (("half of the requests", "p50"), ("nine tenths", "p90"), ("99 of 100", "p99"))]
NAMES = {"httpd": "fibres", "httpd-event": "loop", "httpd-pthread": "threads"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    """Who has no period is not preempted by us: at 0."""
    return frame.assign(label=frame["server"].str.split().str[0].map(NAMES), period=frame["TENTER_PREEMPT_US"].astype(float).fillna(0))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "period", prepare, list(NAMES.values()))
    factors.draw(data, out, NAME, PANELS, "period (us; 0: never)", more=[
        "One worker, 64 connections, 500 requests a second; each 60th computes for 10 ms. The loop and threads stand at 0, since no "
        "period is theirs: the kernel switches threads, and a loop does one request after the other."])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
