# SPDX-License-Identifier: MIT
"""Packet server: packets a second (log) against workers (M, figure 7.1, first panel)."""
from __future__ import annotations

import sys
from pathlib import Path

import style
import curves


def draw(path: Path, out: Path) -> None:
    curves.single(path, out, "packet_throughput", ["throughput"], "throughput (packets/s)", "log")


if __name__ == "__main__":
    sys.exit(style.script("packet_throughput", draw, sys.argv))
