# SPDX-License-Identifier: MIT
"""Row M5.1, section 5.1 of M: a queue by fetch-and-add and CAS, one by fetch-and-add only, one by CAS loops.

The thresholds were written down before anything was measured or simulated for this row.
"""
from __future__ import annotations

from typing import Any

from experiments.runner.claims import Predicate
from experiments.runner.points import Over, Point, statements

THRESHOLDS: dict[str, Any] = {
    "workers": [1, 128],
    # [least, greatest] numbers of threads that count as a few and as many
    "few": [6, 10], "many": [100, 128],
    # each item of FAD+CAS against that of FAD only, at a few and at many threads: alike
    "alike": 1.5,
    # CAS loops: their throughput over that of FAD+CAS at many threads is below this share, which it was above at a few
    "behind": 0.67,
}
APART = ("workers", "structure", "producers")


def at(structure: str, name: str) -> Point:
    return {"structure": structure, "producers": 0, "workers": THRESHOLDS[name]}


CLAIMS: dict[str, Predicate] = {
    "scales like FAD-only": statements(
        "crowd", APART, {"workers": THRESHOLDS["workers"]},
        [Over("throughput", at("mpmc-ring", x), at("mpmc-fad", x), "alike", THRESHOLDS["alike"])
         for x in ("few", "many")]),
    "CAS loops do not": statements(
        "crowd", APART, {"workers": THRESHOLDS["workers"]},
        [Over("throughput", at("mpmc-cas", "many"), at("mpmc-ring", "many"), "below", THRESHOLDS["behind"]),
         Over("throughput", at("mpmc-cas", "few"), at("mpmc-ring", "few"), "above", THRESHOLDS["behind"])]),
}
