"""A number with its interval; the median and Hodges and Lehmann's shift with theirs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import positive

Array = NDArray[np.float64]
EXACT = 50
"""Pairs up to which the signed-rank statistic is taken from its exact distribution."""
HALVINGS = 48
"""Of the span of the differences, in which a Walsh average is looked for."""


@dataclass(frozen=True)
class Estimate:
    """A number and the interval in which the true one is expected.

    Attributes:
        value: best guess; NaN if there is none.
        low: lower end of the interval, −∞ if the data bound it not.
        high: upper end, likewise.
    """

    value: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether a number lies outside of the interval.

        Args:
            value: in the same unit.
        """
        return value < self.low or value > self.high


def two_sided(confidence: float) -> float:
    """z with P(|Z| ≤ z) = confidence for a standard normal Z.

    Args:
        confidence: in (0, 1).
    """
    return NormalDist().inv_cdf(0.5 + required_confidence(confidence) / 2.0)


def required_confidence(confidence: float) -> float:
    """The confidence; raises ModelError unless it lies in (0, 1).

    Args:
        confidence: such as 0.95.
    """
    if positive("confidence", confidence) >= 1.0:
        raise ModelError(f"confidence must lie between 0 and 1, such as 0.95; got {confidence!r}")
    return float(confidence)


def median(values: Array, confidence: float) -> Estimate:
    """The median, with the interval of order statistics that contains it with at least this confidence.

    P(x₍ₗ₎ ≤ median ≤ x₍ₙ₊₁₋ₗ₎) ≥ 1 − 2 P(Bin(n, ½) < l) whatever the distribution is, so that l is the largest with
    P(Bin(n, ½) < l) ≤ α/2. Values may be infinite.

    Args:
        values: independent, not NaN, shape (n,).
        confidence: 1 − α.
    """
    from scipy.special import bdtr

    alpha, n = 1.0 - required_confidence(confidence), len(values)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf)
    ordered = np.sort(values)
    # Fewer than half of them are below the middle one.
    tails = np.atleast_1d(bdtr(np.arange((n + 1) // 2, dtype=np.float64), n, 0.5))
    place = int(np.searchsorted(tails, alpha / 2.0, side="right"))
    low, high = (float(ordered[place - 1]), float(ordered[n - place])) if place else (-math.inf, math.inf)
    return Estimate(_middle(ordered), low, high)


def quantile(values: Array, share: float) -> float:
    """Between two samples as NumPy does, but an infinite one where either of them is; NaN of none.

    Args:
        values: not NaN, may be infinite, shape (n,).
        share: of them that lies below, in [0, 1].
    """
    if not len(values):
        return math.nan
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low, high = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
    return low if low == high or math.isinf(low) else low + (place - math.floor(place)) * (high - low)


def shift(differences: Array, confidence: float) -> Estimate:
    """Hodges and Lehmann's estimate of the shift: the median of the Walsh averages (dᵢ + dⱼ)/2, i ≤ j.

    Its interval is that of the signed-rank test: from the k-th smallest average to the k-th largest, k − 1 the largest
    T with P(T⁺ ≤ T) ≤ α/2, exact up to 50 differences and by the normal distribution above. It presumes that the
    differences are distributed symmetrically about the shift.

    Args:
        differences: finite, shape (n,).
        confidence: 1 − α.
    """
    alpha, n = 1.0 - required_confidence(confidence), len(differences)
    if n == 0:
        return Estimate(math.nan, -math.inf, math.inf)
    pairs = n * (n + 1) // 2
    if n <= EXACT:
        place = int(np.searchsorted(np.cumsum(signed_rank_distribution(n)), alpha / 2.0, side="right"))
    else:
        spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        place = max(0, math.floor(pairs / 2.0 - two_sided(confidence) * spread))
    places = np.array([(pairs + 1) // 2, pairs // 2 + 1, max(place, 1), pairs + 1 - max(place, 1)])
    found = _walsh_averages(np.sort(differences), places)
    middle = float(found[0] + found[1]) / 2.0
    return Estimate(middle, float(found[2]), float(found[3])) if place else Estimate(middle, -math.inf, math.inf)


def signed_rank_distribution(n: int) -> Array:
    """P(T⁺ = k) of Wilcoxon's statistic under symmetry, shape (n(n + 1)/2 + 1,).

    Args:
        n: number of differences, without ties and zeros.
    """
    shares = np.zeros(n * (n + 1) // 2 + 1)
    shares[0] = 1.0
    for rank in range(1, n + 1):
        shares[rank:] += shares[:-rank].copy()
        shares /= 2.0
    return shares


def _walsh_averages(ordered: Array, places: NDArray[np.int64]) -> Array:
    """The averages at some places of their order, counted from 1, without making all n(n + 1)/2 of them."""
    low, high = np.full(len(places), ordered[0]), np.full(len(places), ordered[-1])
    index = np.arange(len(ordered))
    for _ in range(HALVINGS):
        middle = 0.5 * low + 0.5 * high
        behind = np.searchsorted(ordered, 2.0 * middle[:, None] - ordered, side="right")
        counts = np.maximum(behind - index, 0).sum(axis=1)
        enough = counts >= places
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    # What is left of the span is rounding: the average itself is the largest one up to there.
    last = np.searchsorted(ordered, 2.0 * high[:, None] - ordered, side="right") - 1
    averages = 0.5 * ordered + 0.5 * ordered[np.maximum(last, 0)]
    return np.asarray(np.where(last >= index, averages, -np.inf).max(axis=1), dtype=np.float64)


def _middle(ordered: Array) -> float:
    first, second = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    # The mean of two equal infinities is one; of opposite ones there is none.
    return first if first == second else (first + second) / 2.0
