"""Distributions on an interval, on the line and on the half line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite, positive
from ...symbolic.errors import ModelError
from .distribution import Distribution

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Uniform(Distribution):
    """F⁻¹(s) = low + s (high − low).

    Attributes:
        low: least value, in the unit of the number.
        high: largest value, likewise.

    Raises:
        ModelError: for numbers that are not finite, or ``low`` above ``high``.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check."""
        low, high = finite("low", self.low), finite("high", self.high)
        if low > high:
            raise ModelError(f"low must not be above high, got low = {low:g} and high = {high:g}")

    def quantile(self, share: Array) -> Array:
        """The values below which these shares of all values lie.

        Args:
            share: in (0, 1), any shape.
        """
        return np.asarray(self.low + share * (self.high - self.low), dtype=np.float64)


@dataclass(frozen=True)
class Normal(Distribution):
    """F⁻¹(s) = mean + deviation Φ⁻¹(s), Φ the standard normal distribution.

    Its tails reach everywhere: for what must be positive take :class:`LogNormal` or :class:`Uniform`.

    Attributes:
        mean: in the unit of the number.
        deviation: standard deviation, likewise.

    Raises:
        ModelError: for numbers that are not finite, or a deviation that is not positive.
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        """Check."""
        finite("mean", self.mean)
        positive("deviation", self.deviation)

    def quantile(self, share: Array) -> Array:
        """The values below which these shares of all values lie.

        Args:
            share: in (0, 1), any shape.
        """
        return np.asarray(self.mean + self.deviation * _standard_normal(share), dtype=np.float64)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """F⁻¹(s) = median exp(deviation Φ⁻¹(s)).

    Attributes:
        median: positive, in the unit of the number.
        deviation: standard deviation of the natural logarithm; 0.1 is a spread of about 10 %.

    Raises:
        ModelError: for a median or a deviation that is not positive.
    """

    median: float
    deviation: float

    def __post_init__(self) -> None:
        """Check."""
        positive("median", self.median)
        positive("deviation", self.deviation)

    def quantile(self, share: Array) -> Array:
        """The values below which these shares of all values lie.

        Args:
            share: in (0, 1), any shape.
        """
        return np.asarray(self.median * np.exp(self.deviation * _standard_normal(share)), dtype=np.float64)


def _standard_normal(share: Array) -> Array:
    from scipy.special import ndtri  # late, for SciPy takes its time

    if not ((np.asarray(share) > 0.0) & (np.asarray(share) < 1.0)).all():
        raise ModelError(f"shares of a distribution without bounds must lie between 0 and 1, got {share!r}")
    return np.asarray(ndtri(share), dtype=np.float64)
