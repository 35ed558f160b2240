"""Estimates with confidence intervals: the median, and Hodges and Lehmann's shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import positive

Array = NDArray[np.float64]
Better = Literal["less", "more", "neither"]
"""Direction in which a quantity is better."""
EXACT = 50
"""Largest number of pairs for which the exact distribution of the signed-rank statistic is used."""
HALVINGS = 48
"""Bisections of the span of the differences in the search for a Walsh average."""


@dataclass(frozen=True)
class Estimate:
    """An estimate and its confidence interval.

    Attributes:
        value: point estimate; NaN without data.
        low: lower end of the interval; −∞ if the data do not bound it.
        high: upper end of the interval; ∞ if the data do not bound it.
    """

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Return True if a number lies outside the interval.

        Args:
            value: number in the unit of the estimate.
        """
        return value < self.low or value > self.high


def two_sided(confidence: float) -> float:
    """Return z with P(|Z| ≤ z) = confidence for a standard normal Z.

    Args:
        confidence: confidence, in (0, 1).
    """
    return NormalDist().inv_cdf(0.5 + required_confidence(confidence) / 2.0)


def required_confidence(confidence: float) -> float:
    """Return the confidence; raises ModelError unless it lies in (0, 1).

    Args:
        confidence: confidence, such as 0.95.
    """
    if positive("confidence", confidence) >= 1.0:
        raise ModelError(f"confidence must lie between 0 and 1, such as 0.95; got {confidence!r}")
    return float(confidence)


def median(values: Array, confidence: float) -> Estimate:
    """Return the median, with the interval of order statistics that contains it with at least this confidence.

    P(x₍ₗ₎ ≤ median ≤ x₍ₙ₊₁₋ₗ₎) ≥ 1 − 2 P(Bin(n, ½) < l) whatever the distribution is, so that l is the largest with
    P(Bin(n, ½) < l) ≤ α/2. Values may be infinite.

    Args:
        values: independent samples, not NaN, shape (n,).
        confidence: 1 − α.
    """
    from scipy.special import bdtr

    alpha, n = 1.0 - required_confidence(confidence), len(values)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf)
    ordered = np.sort(values)
    # Fewer than half of them are below the middle one.
    tails = np.atleast_1d(bdtr(np.arange((n + 1) // 2, dtype=np.float64), n, 0.5))
    rank = int(np.searchsorted(tails, alpha / 2.0, side="right"))
    low, high = (float(ordered[rank - 1]), float(ordered[n - rank])) if rank else (-math.inf, math.inf)
    return Estimate(_middle(ordered), low, high)


def quantile(values: Array, share: float) -> float:
    """Return a quantile, interpolated as in NumPy; infinite if a sample beside it is; NaN without samples.

    Args:
        values: samples, not NaN, may be infinite, shape (n,).
        share: share of the samples below the quantile, in [0, 1].
    """
    if not len(values):
        return math.nan
    ordered = np.sort(values)
    position = share * (len(ordered) - 1)
    low, high = float(ordered[math.floor(position)]), float(ordered[math.ceil(position)])
    return low if low == high or math.isinf(low) else low + (position - math.floor(position)) * (high - low)


def shift(differences: Array, confidence: float) -> Estimate:
    """Return Hodges and Lehmann's estimate of the shift: the median of the Walsh averages (dᵢ + dⱼ)/2, i ≤ j.

    Its interval is that of the signed-rank test: from the k-th smallest average to the k-th largest, k − 1 the largest
    T with P(T⁺ ≤ T) ≤ α/2, exact up to 50 differences and by the normal distribution above. It assumes that the
    differences are distributed symmetrically about the shift.

    Args:
        differences: finite differences, shape (n,).
        confidence: 1 − α.
    """
    alpha, n = 1.0 - required_confidence(confidence), len(differences)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf)
    pairs = n * (n + 1) // 2
    if n <= EXACT:
        rank = int(np.searchsorted(np.cumsum(signed_rank_distribution(n)), alpha / 2.0, side="right"))
    else:
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        rank = max(0, math.floor(pairs / 2.0 - two_sided(confidence) * spread))
    ranks = np.array([(pairs + 1) // 2, pairs // 2 + 1, max(rank, 1), pairs + 1 - max(rank, 1)])
    averages = _walsh_averages(np.sort(differences), ranks)
    middle = float(averages[0] + averages[1]) / 2.0
    return Estimate(middle, float(averages[2]), float(averages[3])) if rank else Estimate(middle, -math.inf, math.inf)


def signed_rank_distribution(n: int) -> Array:
    """Return P(T⁺ = k) of Wilcoxon's statistic under symmetry, shape (n(n + 1)/2 + 1,).

    Args:
        n: number of differences, without ties and zeros.
    """
    shares = np.zeros(n * (n + 1) // 2 + 1)
    shares[0] = 1.0
    for rank in range(1, n + 1):
        shares[rank:] += shares[:-rank].copy()
        shares /= 2.0
    return shares


def _walsh_averages(ordered: Array, ranks: NDArray[np.int64]) -> Array:
    """Return the Walsh averages of some ranks, counted from 1, without computing all n(n + 1)/2 of them."""
    low, high = np.full(len(ranks), ordered[0]), np.full(len(ranks), ordered[-1])
    index = np.arange(len(ordered))
    for _ in range(HALVINGS):
        middle = 0.5 * low + 0.5 * high
        behind = np.searchsorted(ordered, 2.0 * middle[:, None] - ordered, side="right")
        counts = np.maximum(behind - index, 0).sum(axis=1)
        enough = counts >= ranks
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    # The remaining span is rounding: the average itself is the largest one up to its upper end.
    last = np.searchsorted(ordered, 2.0 * high[:, None] - ordered, side="right") - 1
    averages = 0.5 * ordered + 0.5 * ordered[np.maximum(last, 0)]
    return np.asarray(np.where(last >= index, averages, -np.inf).max(axis=1), dtype=np.float64)


def _middle(ordered: Array) -> float:
    first, second = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    # The mean of two equal infinities is that infinity; of opposite ones it is NaN.
    return first if first == second else (first + second) / 2.0
