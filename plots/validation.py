# SPDX-License-Identifier: MIT
"""Simulated against measured time, as a ratio with its range for each point (docs/simulating.md)."""
from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import style
from experiments.runner import tidy, validation

EXTRA = ("simulated", "measured", "measured_least", "measured_most")


def table(found: list[validation.Point]) -> pd.DataFrame:
    return pd.DataFrame([{
        "panel": p.program, "series": p.series, "x_name": "workers", "x": p.workers, "metric": p.metric,
        "unit": p.unit, "median": p.ratio.value, "low": p.ratio.low, "high": p.ratio.high, "n": p.ratio.n,
        "flag": p.ratio.flag if p.comparable else "operations differ", "simulated": p.simulated, "measured": p.measured[0],
        "measured_least": p.measured[1], "measured_most": p.measured[2]} for p in found])


def draw(path: Path, out: Path) -> None:
    found = validation.points(tidy.load(path))
    if not found:
        raise style.NoData(f"nothing in {path} was both simulated and measured")
    notes = ["Simulated over the lower quartile of the measured times; the bars are of the least and the greatest of the blocks; 1 is "
             "right, the band is the aim. w: workers.", *validation.summary(found)]
    fig, (ax,) = style.page(1, style.PAGE, notes, legend_rows=0, height=0.35 + 0.115 * len(found), left=2.2)
    for y, p in enumerate(found):
        colour = style.colour(p.series) if p.series else "#000000"
        if p.ratio.has_interval:
            ax.plot([p.ratio.low, p.ratio.high], [y, y], color=colour, linewidth=1)
        ax.plot([p.ratio.value], [y], marker="o", markersize=3, color=colour)
    ax.axvspan(1 - validation.AIM, 1 + validation.AIM, color="#EEEEEE", zorder=0)
    ax.axvline(1, color="#777777", linewidth=0.6)
    ax.set_yticks(range(len(found)), [p.name() for p in found], fontsize=5.5)
    ax.set_ylim(len(found) - 0.5, -0.5)
    values = [v for p in found for v in (p.ratio.value, *((p.ratio.low, p.ratio.high) if p.ratio.has_interval else ()))]
    style.log_axis(ax.xaxis, max(min([*values, 0.5]), 1e-3), min(max([*values, 2.0]), 1e3), "1")
    ax.set_xlabel("simulated / measured")
    style.footer(fig, tidy.load_provenance(path))
    style.save(fig, out, "validation")
    style.save_table(table(found), out, "validation", notes, EXTRA)


if __name__ == "__main__":
    sys.exit(style.script("validation", draw, sys.argv))
