"""Distributions of one number, defined by their quantile functions.

They are bounded, unbounded, positive, discrete, or relative to the nominal value; also those of a disturbance's phases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.wrappers.noise import MeasurementNoise
from ...robots.disturbance import Disturbance
from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, not_negative, positive

Array = NDArray[np.float64]


class Distribution(ABC):
    """A probability distribution of one number.

    A sample is the quantile of a number in (0, 1), so that random numbers, Latin hypercubes and Sobol points work with
    every distribution, and equal numbers give equal samples whatever else is randomized.
    """

    @abstractmethod
    def quantile(self, share: Array) -> Array:
        """Return the quantiles of some shares.

        Args:
            share: shares, in (0, 1), any shape.
        """

    @property
    def is_relative(self) -> bool:
        """True if :meth:`around` requires the nominal value."""
        return False

    def around(self, nominal: float, share: Array) -> Array:
        """Return the quantiles of a number with a nominal value, which only relative distributions use.

        Args:
            nominal: value without randomization, in the unit of the number.
            share: shares, in (0, 1), any shape.
        """
        return self.quantile(share)


@dataclass(frozen=True)
class Uniform(Distribution):
    """F⁻¹(s) = low + s (high − low).

    Attributes:
        low: least value, in the unit of the number.
        high: largest value, in the unit of the number.

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
        """Return the quantiles of some shares.

        Args:
            share: shares, in (0, 1), any shape.
        """
        return np.asarray(self.low + share * (self.high - self.low), dtype=np.float64)


@dataclass(frozen=True)
class Normal(Distribution):
    """F⁻¹(s) = mean + deviation Φ⁻¹(s), Φ the standard normal distribution.

    It is unbounded: for a number that must be positive use :class:`LogNormal` or :class:`Uniform`.

    Attributes:
        mean: mean, in the unit of the number.
        deviation: standard deviation, in the unit of the number.

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
        """Return the quantiles of some shares.

        Args:
            share: shares, in (0, 1), any shape.
        """
        return np.asarray(self.mean + self.deviation * _standard_normal(share), dtype=np.float64)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """F⁻¹(s) = median exp(deviation Φ⁻¹(s)).

    Attributes:
        median: median, positive, in the unit of the number.
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
        """Return the quantiles of some shares.

        Args:
            share: shares, in (0, 1), any shape.
        """
        return np.asarray(self.median * np.exp(self.deviation * _standard_normal(share)), dtype=np.float64)


def _standard_normal(share: Array) -> Array:
    from scipy.special import ndtri  # late, for SciPy takes its time

    if not ((np.asarray(share) > 0.0) & (np.asarray(share) < 1.0)).all():
        raise ModelError(f"shares of an unbounded distribution must lie between 0 and 1, got {share!r}")
    return np.asarray(ndtri(share), dtype=np.float64)


def disturbance_distributions(source: Disturbance | MeasurementNoise) -> Mapping[str, Distribution]:
    """Return distributions of the phases and frequencies of a disturbance, by name; for ``Setup.randomization``.

    Those of a disturbance are parameters of the plant, ``plant.disturbance.x.phase1`` and so on; those of measurement
    noise are parameters of the controller, ``law.noise.q1.phase1``. A seed produces the same force for every controller
    and, where the names are the same, the same noise.

    Args:
        source: a disturbance as returned by :func:`~erugin.robots.disturb`, or a controller with measurement noise.

    Raises:
        ModelError: for anything else.
    """
    if isinstance(source, Disturbance):
        side = "plant"
    elif isinstance(source, MeasurementNoise):
        side = "law"
    else:
        raise ModelError(f"disturbance_distributions requires a Disturbance or a MeasurementNoise, got {source!r}")
    return {f"{side}.{name}": Uniform(low, high) for name, (low, high) in source.random_ranges.items()}


@dataclass(frozen=True)
class Choice(Distribution):
    """A discrete distribution; its quantiles take the values in the given order.

    Attributes:
        values: values, at least one, in the unit of the number.
        weights: relative frequency of each value; equal if empty.

    Raises:
        ModelError: for no values, values that are not finite, or weights whose number differs, that are negative, or
            all zero.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check the values and convert them to tuples."""
        for word, given in (("values", self.values), ("weights", self.weights)):
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise ModelError(f"{word} of a Choice must be a sequence of numbers, such as (1.0, 2.0), got {given!r}")
        values = tuple(finite("a value", value) for value in self.values)
        weights = tuple(not_negative("a weight", weight) for weight in self.weights)
        if not values:
            raise ModelError("a Choice requires at least one value, got an empty sequence")
        if weights and len(weights) != len(values):
            raise ModelError(f"got {len(weights)} weights for {len(values)} values: give one for each, or omit them")
        if weights and not sum(weights) > 0.0:
            raise ModelError("at least one weight must be greater than zero")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights)

    def quantile(self, share: Array) -> Array:
        """Return the value in whose part of (0, 1) each share lies.

        Args:
            share: shares, in (0, 1), any shape.
        """
        bounds = np.cumsum(self.weights or np.ones(len(self.values)))
        below = np.asarray(share)[..., None] * bounds[-1] >= bounds[:-1]
        return np.asarray(np.array(self.values)[np.count_nonzero(below, axis=-1)], dtype=np.float64)


class Relative(Distribution):
    """A distribution of a change of the nominal value."""

    def __post_init__(self) -> None:
        """Raise ModelError unless the change has a distribution that is not relative."""
        if not isinstance(self.change, Distribution) or self.change.is_relative:
            raise ModelError(
                f"{type(self).__name__} requires a distribution that is not relative, such as Uniform(0.9, 1.1), got "
                f"{self.change!r}"
            )

    @property
    @abstractmethod
    def change(self) -> Distribution:
        """Distribution of the factor or the offset."""

    @property
    def is_relative(self) -> bool:
        """True."""
        return True

    def quantile(self, share: Array) -> Array:
        """Return the quantiles of the change.

        Args:
            share: shares, in (0, 1), any shape.
        """
        return self.change.quantile(share)


@dataclass(frozen=True)
class Scaled(Relative):
    """The nominal value times a factor: ``Scaled(Uniform(0.9, 1.1))`` is ±10 %.

    Attributes:
        factor: distribution of the factor, without unit.

    Raises:
        ModelError: if it is not a distribution, or is relative.
    """

    factor: Distribution

    @property
    def change(self) -> Distribution:
        """Distribution of the factor."""
        return self.factor

    def around(self, nominal: float, share: Array) -> Array:
        """Return the nominal value times the quantiles of the factor.

        Args:
            nominal: value without randomization, in the unit of the number.
            share: shares, in (0, 1), any shape.
        """
        return nominal * self.factor.quantile(share)


@dataclass(frozen=True)
class Shifted(Relative):
    """The nominal value plus an offset: ``Shifted(Normal(0.0, 0.01))``.

    Attributes:
        offset: distribution of the offset, in the unit of the number.

    Raises:
        ModelError: if it is not a distribution, or is relative.
    """

    offset: Distribution

    @property
    def change(self) -> Distribution:
        """Distribution of the offset."""
        return self.offset

    def around(self, nominal: float, share: Array) -> Array:
        """Return the nominal value plus the quantiles of the offset.

        Args:
            nominal: value without randomization, in the unit of the number.
            share: shares, in (0, 1), any shape.
        """
        return nominal + self.offset.quantile(share)
