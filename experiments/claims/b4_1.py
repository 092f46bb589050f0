# SPDX-License-Identifier: MIT
"""Row B4.1, figure 4.1 of B: fibres between two clusters, by ready queue, 2 to 64 cores.

The thresholds were written down before anything was measured or simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [2, 64],
    # where the source's lines lie apart: [least, greatest] numbers of cores
    "many": [32, 64], "middle": [16, 32],
    # "greater" is any more than this
    "greater": 1.0,
}
APART = ("workers", "scheduler")
SHARED = "pushing:fresh=staging"


def local(queue: str) -> str:
    return f"pushing:fresh=push:queue={queue}"


def at(scheduler: str, name: str) -> Point:
    return {"scheduler": scheduler, "workers": THRESHOLDS[name]}


CLAIMS: dict[str, Predicate] = {
    "intrusive > MPSC > local lock > shared": statements(
        "migrate", APART, {"workers": THRESHOLDS["workers"]},
        [Over("throughput", at(more, x), at(less, x), "above", THRESHOLDS["greater"])
         for x in ("middle", "many")
         for more, less in ((local("stub"), local("node")), (local("node"), local("locked")), (local("locked"), SHARED))]),
}
