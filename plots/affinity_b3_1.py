# SPDX-License-Identifier: MIT
"""Where a fibre that was stolen goes when it is woken: home (transient stealing) or not (sticky) (B, section 3.2.2)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "affinity_b3_1"
WAYS = {"fifo:place=owner": "transient", "fifo:place=owner:sticky=1": "sticky", "fifo:place=owner:sticky=8": "sticky from 8",
        "fifo:place=home": "home", "fifo:place=waker": "waker"}
WANTED = [factors.Panel("turns at home", "at_home", "share", "linear"),
          factors.Panel("imbalance", "imbalance", "most turns of a worker, over the mean", "linear"),
          factors.Panel("throughput", "throughput", "turns/s (log)", "log")]


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    spec = frame["scheduler"]
    return frame.assign(label=spec.map(WAYS).fillna(spec.map(lambda s: "blocking" if "victims=busy" in str(s) else None)),
                        workers=frame["workers"])


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "affinity", "workers", prepare, [*WAYS.values(), "blocking"])
    said = ["blocking: transient too, from the longest-busy victim, one at a time; a worker without work sleeps."]
    factors.draw(data, out, NAME, WANTED, "workers (log)", more=said if "blocking" in data.labels else [])


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
