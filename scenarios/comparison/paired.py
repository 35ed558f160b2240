"""Statistics of one metric: differences of two controllers on the same runs, and summaries of one controller."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, ShapeError
from .estimate import Better, Estimate, median, shift, two_sided
from .proportions import tango

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
ROUNDING = 1e-9
"""Relative difference up to which two numbers count as equal: mathematically equal laws differ by rounding."""
NOTHING = Estimate(math.nan, -math.inf, math.inf)


@dataclass(frozen=True)
class Paired:
    """The difference of a metric between two controllers, run by run.

    A run that had to stop counts as worse than any that did not, as does one whose metric is infinite; two such runs of
    one pair count as equal, as do numbers that differ by rounding only. ``difference``, ``chance``, ``p`` and
    ``rank_biserial`` use all pairs in this sense, so that no failure is dropped; ``shift`` and ``effect`` use the pairs
    in which both controllers have a finite metric, because the others have no mean. A metric of which neither less nor
    more is better is compared on the latter pairs only, and has no ``chance``.

    Attributes:
        n: number of pairs.
        finite: number of pairs in which both have a finite metric.
        wins: number of pairs in which the first is better.
        losses: number of pairs in which the second is better.
        difference: median of first − second, with the exact interval of order statistics, in the metric's unit.
        shift: Hodges and Lehmann's estimate of first − second, with the interval of the signed-rank test.
        chance: P(the first is better) + ½ P(they are equal), with Tango's score interval.
        simultaneous: ``chance`` with a raised confidence, so that the intervals of all pairs of controllers hold
            simultaneously.
        effect: Cohen's d_z, mean over standard deviation of first − second, with the interval of the delta method.
        rank_biserial: (T⁺ − T⁻)/(T⁺ + T⁻) of the signed ranks of first − second, from −1 to 1.
        p: p-value of Wilcoxon's signed-rank test; 1 if all differences are zero.
    """

    n: int
    finite: int
    wins: int
    losses: int
    difference: Estimate
    shift: Estimate
    chance: Estimate
    simultaneous: Estimate
    effect: Estimate
    rank_biserial: float
    p: float

    @classmethod
    def of(cls, first: Array, second: Array, better: Better, confidence: float, *, family_size: int = 1) -> Paired:
        """Compare a metric of two controllers.

        Args:
            first: metric of the first controller in each run, shape (n,); NaN for runs that had to stop.
            second: metric of the second controller in the same runs, shape (n,).
            better: ``"less"``, ``"more"`` or ``"neither"``.
            confidence: confidence of each interval.
            family_size: number of intervals that hold simultaneously (Bonferroni), for ``simultaneous``.

        Raises:
            ShapeError: for different lengths.
        """
        if first.shape != second.shape or first.ndim != 1:
            raise ShapeError(f"metrics of pairs must have one shape (n,), got {first.shape} and {second.shape}")
        finite = np.isfinite(first) & np.isfinite(second)
        known = _difference(first[finite], second[finite])
        d, wins, losses = known, 0, 0
        if better not in get_args(Better):
            raise ModelError(f"better must be one of {', '.join(map(repr, get_args(Better)))}, got {better!r}")
        if better != "neither":
            sign = 1.0 if better == "less" else -1.0
            d = _difference(worst_is_infinite(first, better), worst_is_infinite(second, better))
            wins, losses = int(np.count_nonzero(sign * d < 0.0)), int(np.count_nonzero(sign * d > 0.0))
        raised = 1.0 - (1.0 - confidence) / max(family_size, 1)
        chance, simultaneous = (_chance(wins, losses, len(d), each) for each in (confidence, raised))
        biserial, p = signed_ranks(d)
        return cls(
            n=len(first),
            finite=int(np.count_nonzero(finite)),
            wins=wins,
            losses=losses,
            difference=median(d, confidence),
            shift=shift(known, confidence),
            chance=NOTHING if better == "neither" else chance,
            simultaneous=NOTHING if better == "neither" else simultaneous,
            effect=standardized(known, confidence),
            rank_biserial=biserial,
            p=p,
        )


def worst_is_infinite(values: Array, better: Better) -> Array:
    """Return the metric with values that are not finite replaced by the worst infinity, shape (n,).

    Args:
        values: values of the metric, shape (n,).
        better: ``"less"``, ``"more"`` or ``"neither"``.
    """
    return np.where(np.isfinite(values), values, -np.inf if better == "more" else np.inf)


def standardized(differences: Array, confidence: float) -> Estimate:
    """Return Cohen's d_z = mean/standard deviation, with the interval from its variance to first order.

    n Var(d_z) → 1 − γ d_z + (κ − 1) d_z²/4 with skewness γ and kurtosis κ of the differences, whatever their
    distribution is.

    Args:
        differences: finite differences, shape (n,).
        confidence: confidence of the interval.
    """
    z, n = two_sided(confidence), len(differences)
    if n < 3:
        return NOTHING
    center = float(np.mean(differences))
    away = differences - center
    variance = float(np.mean(away * away))
    # A spread of the size of rounding counts as zero.
    if variance <= (1e-14 * float(np.abs(differences).max())) ** 2:
        return Estimate(0.0, 0.0, 0.0) if center == 0.0 else NOTHING
    d = center / math.sqrt(variance * n / (n - 1))
    skewness, kurtosis = (float(np.mean(away**k)) / variance ** (k / 2) for k in (3, 4))
    half = z * math.sqrt(max(1.0 - skewness * d + (kurtosis - 1.0) * d * d / 4.0, 0.0) / n)
    return Estimate(d, d - half, d + half)


def signed_ranks(differences: Array) -> tuple[float, float]:
    """Return the matched-pairs rank-biserial correlation, and p of the two-sided signed-rank test; zeros are dropped.

    Args:
        differences: differences, not NaN, may be infinite, shape (n,).
    """
    from scipy.stats import rankdata, wilcoxon  # late, because it is slow to import

    nonzero = differences[differences != 0.0]
    if not len(nonzero):
        return 0.0, 1.0
    ranks = rankdata(np.abs(nonzero))
    above = float(ranks[nonzero > 0.0].sum())
    # Ranks replace the values: infinite ones are the largest, and tied.
    test = wilcoxon(np.where(nonzero > 0.0, ranks, -ranks))
    return 2.0 * above / float(ranks.sum()) - 1.0, float(test.pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: rejecting each null hypothesis with a value ≤ α keeps the familywise level α.

    Args:
        p: p-values of a family of tests.
    """
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted


def _difference(first: Array, second: Array) -> Array:
    """Return first − second, and 0 where they differ by rounding or are equal infinities."""
    with np.errstate(invalid="ignore"):
        d = first - second
        alike = np.abs(d) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))
    return np.where(np.isnan(d) | (alike & np.isfinite(d)), 0.0, d)


def _chance(wins: int, losses: int, runs: int, confidence: float) -> Estimate:
    net = tango(wins, losses, runs, confidence)
    return Estimate(*((1.0 + side) / 2.0 for side in (net.value, net.low, net.high)))


@dataclass(frozen=True)
class Summary:
    """Statistics of one metric of one controller.

    Attributes:
        metric: name of the metric.
        controller: name of the controller.
        runs: number of runs.
        finite: number of runs that did not have to stop and have a finite metric.
        median: median of all runs, those without a finite metric counted as the worst, with the interval of order
            statistics.
        quartiles: first and third quartile of the same values, interpolated between samples.
        mean: mean of the finite values; NaN without any.
    """

    metric: str
    controller: str
    runs: int
    finite: int
    median: Estimate
    quartiles: tuple[float, float]
    mean: float


@dataclass(frozen=True)
class PairedSummary:
    """Statistics of one metric of two controllers.

    Attributes:
        metric: name of the metric.
        first: name of a controller.
        second: name of another one.
        paired: statistics of first − second.
        adjusted: Holm's adjusted p, in the family of all pairs and all metrics of the comparison that can rank
            controllers.
    """

    metric: str
    first: str
    second: str
    paired: Paired
    adjusted: float
