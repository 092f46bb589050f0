# SPDX-License-Identifier: MIT
"""Fibres between two clusters: migrations a second, by ready queue, against cores (B, figure 4.1)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors

NAME = "migrate_b4_1"
PANELS = [factors.Panel("migrations", "throughput", "1/s (log)", "log")]
NAMES = {"pushing:fresh=staging": "shared, one lock", "pushing:fresh=push:queue=locked": "local, a lock each",
         "pushing:fresh=push:queue=node": "local MPSC", "pushing:fresh=push:queue=stub": "local MPSC, intrusive",
         "pushing:fresh=push:queue=nemesis": "local, Nemesis",
         "pushing:fresh=push:queue=stub:steal=stuck": "local MPSC, intrusive, no stealing"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=frame["scheduler"].map(lambda s: NAMES.get(s, s)))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "migrate", "workers", prepare, list(NAMES.values()))
    factors.draw(data, out, NAME, PANELS, "cores, half of them for each cluster (log)")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
