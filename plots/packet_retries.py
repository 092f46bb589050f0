# SPDX-License-Identifier: MIT
"""Packet server: spawner retries against workers (M, figure 7.1, last panel)."""
from __future__ import annotations

import sys
from pathlib import Path

import style
import curves


def draw(path: Path, out: Path) -> None:
    curves.single(path, out, "packet_retries", ["retries"],
                  "spawner retries (count)", "symlog")


if __name__ == "__main__":
    sys.exit(style.script("packet_retries", draw, sys.argv))
