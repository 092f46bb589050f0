# SPDX-License-Identifier: MIT
"""Statistics of a run: the invocation is the unit.

Repetitions inside one process share its layout, its caches and its luck, so they are first reduced
to their median; intervals are over invocations.  Warm-up is flagged in the table and left out here.
"""
from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Sequence

import numpy as np
import pandas as pd
import scipy.stats

from . import percentiles

CONFIDENCE = 0.95
RESAMPLES = 4999
SEED = 20240229
#: with fewer invocations no interval is drawn
FEWEST = 3
#: With fewer nothing is decided.  No interval within the range of n samples covers their
#: population's median more often than 1 - 2 * 0.5^n: 75 % for 3, 87.5 % for 4, 93.75 % for 5; six
#: are the first that can reach 95 %.
FEW = 6
FEW_FLAG = f"n<{FEW}: covers less than 95 %"
#: what flags mean, in the words of the report
MEANINGS = {
    f"n<{FEWEST}": f"n<{FEWEST}: from fewer than {FEWEST} invocations no interval can be given.",
    "degenerate": "degenerate: all invocations gave the same value, so that the interval has no "
                  "length; it does not say that the value is exact.",
    "percentile": "percentile: the interval is the plain percentile interval of the bootstrap, "
                  "because the better one (BCa) is undefined for these values.",
    "no interval": "no interval: the bootstrap gives none for these values.",
    FEW_FLAG: f"{FEW_FLAG}: an interval from fewer than {FEW} invocations cannot hold the true "
              "median in 95 of 100 cases, however it is made.",
}
NO_DIFFERENCE = "no difference shown"
TOO_FEW = "too few blocks to say"
ZERO_DIVISOR = "divisor is zero"

Statistic = Callable[..., Any]


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; `flag` is empty for a BCa interval of at least FEW values, else
    it says what it is."""

    value: float
    low: float
    high: float
    n: int
    flag: str = ""

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def decides(self) -> bool:
        """Whether a verdict may rest on it."""
        return self.has_interval and self.n >= FEW


def flag_of(n: int, kind: str = "") -> str:
    """What is to be said of an interval from n values, after what kind of interval it is."""
    if n < FEWEST:
        return f"n<{FEWEST}"
    return ", ".join(text for text in (kind, FEW_FLAG if n < FEW else "") if text)


def _interval(data: np.ndarray, statistic: Statistic, method: str) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = scipy.stats.bootstrap(
            (data,), statistic, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, method=method,
            vectorized=True, random_state=np.random.default_rng(SEED))
    interval = result.confidence_interval
    return float(interval.low), float(interval.high)


def bootstrap(data: Sequence[float] | np.ndarray, statistic: Statistic = np.median) -> Estimate:
    """The statistic of a sample with its BCa bootstrap 95 % interval.

    Flags: `n<3` (no interval), `degenerate` (all values equal: the interval is that value),
    `percentile` (BCa does not exist for this sample, the plain percentile interval is given), and
    FEW_FLAG behind any of them but the first.
    """
    sample = np.asarray(data, dtype=float)
    return _bootstrap(sample[np.isfinite(sample)].tobytes(), statistic, RESAMPLES)


@functools.lru_cache(maxsize=4096)
def _bootstrap(raw: bytes, statistic: Statistic, _resamples: int) -> Estimate:
    """Kept, because tables, report and claims ask for the same intervals."""
    sample = np.frombuffer(raw)
    n = int(sample.size)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, "no data")
    value = float(statistic(sample, axis=-1))
    if n < FEWEST:
        return Estimate(value, math.nan, math.nan, n, flag_of(n))
    if np.ptp(sample) == 0.0:
        return Estimate(value, value, value, n, flag_of(n, "degenerate"))
    low, high = _interval(sample, statistic, "BCa")
    if math.isfinite(low) and math.isfinite(high):
        return Estimate(value, low, high, n, flag_of(n))
    low, high = _interval(sample, statistic, "percentile")
    return Estimate(value, low, high, n, flag_of(n, "percentile"))


def median(data: Sequence[float] | np.ndarray) -> Estimate:
    return bootstrap(data, np.median)


def pooled_percentile(counts: np.ndarray, highs: np.ndarray, percent: float) -> Estimate:
    """A percentile of histograms pooled over the invocations of a cell (one row of counts each).

    The interval resamples whole invocations, never single samples.  The caller checks that there
    are samples enough (percentiles.samples_needed).
    """
    share = round(percent / 100.0, 9)
    cumulative = np.cumsum(counts, axis=1).T.copy()     # buckets x invocations

    def of(index: np.ndarray, axis: int = -1) -> np.ndarray:
        picks = np.moveaxis(np.asarray(index), axis, -1).astype(int)
        flat = picks.reshape(-1, picks.shape[-1])

        def at(bucket: np.ndarray) -> Any:              # samples up to a bucket, of each resample
            return cumulative[bucket[:, None], flat].sum(axis=1)

        low = np.zeros(len(flat), dtype=int)            # by halving, for all resamples at once
        high = np.full(len(flat), len(highs) - 1)
        rank = np.maximum(1.0, np.ceil(np.round(share * at(high), 6)))
        while (low < high).any():
            middle = (low + high) // 2
            enough = at(middle) >= rank
            high, low = np.where(enough, middle, high), np.where(enough, low, middle + 1)
        return highs[low].reshape(picks.shape[:-1])

    n = counts.shape[0]
    value = float(of(np.arange(n)))
    if n < FEWEST:
        return Estimate(value, math.nan, math.nan, n, flag_of(n))
    each = of(np.arange(n)[:, None])
    if np.ptp(each) == 0.0:
        return Estimate(value, value, value, n, flag_of(n, "degenerate"))
    for method, flag in (("BCa", ""), ("percentile", "percentile")):
        low, high = _interval(np.arange(n), of, method)
        if math.isfinite(low) and math.isfinite(high):
            return Estimate(value, low, high, n, flag_of(n, flag))
    return Estimate(value, math.nan, math.nan, n, "no interval")


def pooled(hist: pd.DataFrame, percent: float) -> Estimate:
    """That percentile of rows of hist.csv; with too few samples for it an estimate of nothing."""
    if len(hist):
        counts, highs = percentiles.count_matrix(hist)
        if counts.sum() >= percentiles.samples_needed(percent):
            return pooled_percentile(counts, highs, percent)
    return Estimate(math.nan, math.nan, math.nan, 0, "too few samples")


# -- from the tidy table --------------------------------------------------------------------------

def invocations(frame: pd.DataFrame, metric: str, by: Iterable[str] = ()) -> pd.DataFrame:
    """One row an invocation: the median of its counted repetitions of `metric`."""
    keep = frame["status"].eq("ok") & ~frame["warmup"] & frame["metric"].eq(metric)
    if "superseded" in frame:
        keep &= ~frame["superseded"]
    keys = ["invocation", "block", "order", *by]
    part = frame[keep]
    if part.empty:
        return pd.DataFrame(columns=[*keys, "value"])
    return part.groupby(keys, dropna=False, as_index=False)["value"].median()


def by_block(frame: pd.DataFrame, metric: str) -> pd.Series:
    """The value of each block (median over its invocations), for pairing."""
    per = invocations(frame, metric)
    return per.groupby("block")["value"].median() if not per.empty else pd.Series(dtype=float)


def ratio(first: pd.Series, second: pd.Series) -> Estimate:
    """Median of first/second over the blocks that have both."""
    pair = pd.concat([first, second], axis=1, join="inner").to_numpy(dtype=float)
    if pair.size == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, "no common block")
    good = pair[(pair[:, 1] != 0.0) & np.isfinite(pair).all(axis=1)]
    if good.size == 0:
        return Estimate(math.nan, math.nan, math.nan, 0, ZERO_DIVISOR)
    return median(good[:, 0] / good[:, 1])


def number(value: float, digits: int = 3) -> str:
    """Three significant digits, grouped by thin spaces."""
    if not math.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4:
        return f"{value:.{digits - 1}e}"
    if size >= digits:
        rounded = round(value, digits - 1 - size)
        return f"{rounded:,.0f}".replace(",", "\u202f")
    return f"{value:.{max(0, digits - 1 - size)}f}"


def difference_shown(estimate: Estimate) -> bool:
    """Never with fewer than FEW blocks, however narrow the interval."""
    return estimate.decides and not estimate.low <= 1.0 <= estimate.high


def ratio_text(estimate: Estimate) -> str:
    """`1.08 [1.04, 1.11]`, or that no difference was shown, or that the blocks are too few, or why
    there is no interval."""
    if estimate.n == 0:
        return estimate.flag
    if not estimate.has_interval:
        few = f"{TOO_FEW}: " if estimate.n < FEW else ""
        return f"{few}{number(estimate.value)}, no interval ({estimate.flag})"
    span = f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"
    if estimate.n < FEW:
        return f"{TOO_FEW} ({span})"
    return span if difference_shown(estimate) else f"{NO_DIFFERENCE} ({span})"


# -- drift ----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Drift:
    """A trend where none should be.  Nothing is dropped because of it: it is a warning."""

    metric: str
    against: str
    tau: float
    p: float
    change: float
    n: int

    def text(self) -> str:
        way = "rose" if self.change > 0 else "fell"
        return (f"{self.metric} {way} by {abs(self.change) * 100:.1f} % {self.against} "
                f"(Mann-Kendall tau {self.tau:+.2f}, p {self.p:.2g}, n {self.n})")


def _trend(position: np.ndarray, value: np.ndarray) -> tuple[float, float, float] | None:
    """Kendall's tau, its p, and the change from the first to the last position (Theil-Sen)."""
    if len(value) < 5 or np.ptp(value) == 0.0 or np.ptp(position) == 0.0:
        return None
    tau, p = scipy.stats.kendalltau(position, value)
    if not math.isfinite(p):
        return None
    slope = float(scipy.stats.theilslopes(value, position)[0])
    return float(tau), float(p), slope * float(np.ptp(position))


def _normalised(values: pd.Series, groups: pd.Series) -> pd.Series:
    """Each value over the median of its group, so that unlike conditions can be put together."""
    centre = values.groupby(groups).transform("median")
    return (values / centre.where(centre != 0.0)).rename("value")


def drifts(frame: pd.DataFrame, metrics: Iterable[str], level: float = 0.01,
           smallest: float = 0.01) -> list[Drift]:
    """Trends over the run (value of an invocation against its order) and over the repetitions
    inside the invocations; both as shares of the median of the cell or of the invocation."""
    found: list[Drift] = []
    keep = frame["status"].eq("ok") & ~frame["warmup"] & ~frame["superseded"]
    for metric in metrics:
        part = frame[keep & frame["metric"].eq(metric)]
        if part.empty:
            continue
        per = part.groupby(["cell", "invocation", "order"], as_index=False)["value"].median()
        per["value"] = _normalised(per["value"], per["cell"])
        per = per.dropna(subset=["value", "order"])
        reps = part.assign(rep=pd.to_numeric(part["rep"], errors="coerce"))
        reps = reps.dropna(subset=["rep"])
        reps = reps.assign(value=_normalised(reps["value"], reps["invocation"]))
        reps = reps.dropna(subset=["value"])
        if len(reps) > 2000:
            reps = reps.sample(2000, random_state=SEED)
        for against, where, table in (("over the run", "order", per),
                                      ("from the first to the last repetition", "rep", reps)):
            trend = _trend(table[where].to_numpy(dtype=float), table["value"].to_numpy(dtype=float))
            if trend and trend[1] < level and abs(trend[2]) >= smallest:
                found.append(Drift(metric, against, *trend, n=len(table)))
    return found
