# SPDX-License-Identifier: MIT
"""Packet server: time to completion against workers (M, figure 7.1, second panel)."""
from __future__ import annotations

import sys
from pathlib import Path

import style
import curves


def draw(path: Path, out: Path) -> None:
    curves.single(path, out, "packet_time", ["time"], "time to completion", "log")


if __name__ == "__main__":
    sys.exit(style.script("packet_time", draw, sys.argv))
