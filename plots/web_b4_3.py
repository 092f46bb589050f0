# SPDX-License-Identifier: MIT
"""Web server with one request a connection, by when a descriptor is registered, against cores (B, figure 4.3)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
import factors
import web_h2

NAME = "web_b4_3"
PANELS = [factors.Panel("requests", "throughput", "1/s", "linear"),
          factors.Panel("processor time", "cpu", "a request", "linear")]
WHEN = {"on": "lazily", "off": "at once"}


def prepare(frame: pd.DataFrame) -> pd.DataFrame:
    poller = frame["TENTER_POLLER"].astype(str).str.partition(":lazy=")
    named = poller[0] + ", " + poller[2].map(WHEN)
    return frame.assign(label=named.where(poller[1].ne(""), frame["server"].map(web_h2.NAMES)))


def draw(path: Path, out: Path) -> None:
    data = factors.read(path, "loadgen", "workers", prepare, [])
    factors.draw(data, out, NAME, PANELS, "cores")


if __name__ == "__main__":
    sys.exit(style.script(NAME, draw, sys.argv))
