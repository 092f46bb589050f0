# SPDX-License-Identifier: MIT
"""Row B6.2, figure 6.2 of B: the limit of both models (6.10). Computed, so there is no interval."""
from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.runner.claims import FAILS, HOLDS, Predicate, Undecidable, Verdict

THRESHOLDS: dict[str, Any] = {
    "limit": 32,
    # as near as this, with so many threads; and never above
    "within": 0.01, "threads": 4096,
}
MODELS = ("probabilistic", "mva")


def limit(frame: pd.DataFrame) -> Verdict:
    good = frame[frame["metric"].eq("utilisation") & frame["locks"].eq(16) & frame["critical"].eq(frame["other"])]
    said, judged = [], {}
    holds = True
    for name in MODELS:
        mine = good[good["series"].eq(name)].set_index("workers")["value"]
        if THRESHOLDS["threads"] not in mine:
            raise Undecidable(f"no point of {name} with {THRESHOLDS['threads']} threads, 16 locks and equal loops")
        far, most = float(mine[THRESHOLDS["threads"]]), float(mine.max())
        holds &= abs(far / THRESHOLDS["limit"] - 1) <= THRESHOLDS["within"] and most <= THRESHOLDS["limit"] * (1 + 1e-12)
        judged[name] = round(far, 6)
        said.append(f"{name} {far:.2f} with {THRESHOLDS['threads']} threads, at most {most:.2f}")
    return Verdict(HOLDS if holds else FAILS, "; ".join(said), judged)


CLAIMS: dict[str, Predicate] = {"limit 32": limit}
