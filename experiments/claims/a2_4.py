# SPDX-License-Identifier: MIT
"""Row A2.4, figure 2.4 of A: what it takes to hand a line over, by layer of the machine.

Simulated, the verdict is one on the machine files: it says whether their layers, of which most
times are estimates, lie apart as the source has them.  The thresholds were written down before any
of them was simulated for this row.
"""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner import stats
from experiments.runner.claims import FAILS, Predicate, Undecidable, Verdict, alike, all_of, native
from experiments.runner.points import rows_at, take

THRESHOLDS: dict[str, Any] = {
    # each layer over the one inside it: 2, give or take this factor ("roughly")
    "doubles": 2.0, "roughly": 1.5,
    # a processor of each layer, seen from processor 0, the nearest first (`to` of the matrix)
    "layers": {"epyc7702x2": [128, 1, 4, 64], "e5-2620x2": [12, 1, 6], "e5-4610v2x4": [32, 1, 8],
               "opteron6380x4": [1, 2, 8, 16], "e5410x2": [1, 2, 4]},
}
APART = ("to", "TENTER_MACHINE", "TENTER_SMT")


def doubles(frame: pd.DataFrame) -> Verdict:
    good = native(frame, "lines", APART)
    if "TENTER_MACHINE" not in good:
        pairs = good["to"].nunique()
        raise Undecidable(f"needs pairs in two layers or more, and which layer a pair is in is known "
                          f"of machine files only; here are {pairs} pairs of processors")
    parts = []
    for machine in good["TENTER_MACHINE"].unique():
        here, _name = rows_at(good, {"TENTER_MACHINE": machine})
        layers = [take(here, "line", {"to": to})[0] for to in THRESHOLDS["layers"][machine]]
        names = THRESHOLDS["layers"][machine]
        for inner, outer, a, b in zip(layers, layers[1:], names, names[1:]):
            half = stats.ratio(outer / THRESHOLDS["doubles"], inner)
            parts.append(alike(half, THRESHOLDS["roughly"],
                               f"{machine}: half the time to {b} over the time to {a}"))
    verdict = all_of(parts)
    if verdict.verdict == FAILS:
        verdict.why += ("; a sibling shares the first level, so nothing moves between the two; the other "
                        "times are `transfer` of sim/machines/, which says of each whether it is an estimate")
    return verdict


CLAIMS: dict[str, Predicate] = {"doubles a layer": doubles}
