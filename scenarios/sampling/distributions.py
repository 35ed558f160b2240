"""Distributions of one number: the abstract one, by its quantile function, and those that Erugin has.

Of values, on an interval, on the line, on the half line, relative to the nominal value, and of a disturbance's phases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.wrappers import MeasurementNoise
from ...robots.disturbance import Disturbance
from ...symbolic.errors import ModelError
from ...symbolic.validation import finite, not_negative, positive

Array = NDArray[np.float64]


class Distribution(ABC):
    """How one number varies.

    A sample is the quantile of a number in (0, 1), so that random numbers, Latin hypercubes and Sobol points serve
    every distribution alike, and equal numbers give equal samples whatever else is varied.
    """

    @abstractmethod
    def quantile(self, share: Array) -> Array:
        """The values below which these shares of all values lie.

        Args:
            share: in (0, 1), any shape.
        """

    @property
    def is_relative(self) -> bool:
        """Whether :meth:`around` needs the nominal value."""
        return False

    def around(self, nominal: float, share: Array) -> Array:
        """The same for what has a nominal value, which only relative distributions look at.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return self.quantile(share)


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


def disturbance_distributions(source: Disturbance | MeasurementNoise) -> Mapping[str, Distribution]:
    """How seeds vary phases and frequencies, by the names of what is varied; for ``Setup.varied``.

    Those of a disturbance are parameters of the plant, ``plant.disturbance.x.phase1`` and so on; those of errors of
    measurement of the controller, ``law.noise.q1.phase1``. A seed gives every controller the same force and, where the
    names are the same, the same errors.

    Args:
        source: what :func:`~erugin.robots.disturb` returns, or a controller that sees errors.

    Raises:
        ModelError: for anything else.
    """
    if isinstance(source, Disturbance):
        side = "plant"
    elif isinstance(source, MeasurementNoise):
        side = "law"
    else:
        raise ModelError(f"drawn() takes a Disturbance or a Measured controller, got {source!r}")
    return {f"{side}.{name}": Uniform(low, high) for name, (low, high) in source.random_ranges.items()}


@dataclass(frozen=True)
class Choice(Distribution):
    """One of some values, in the order in which they are given.

    Attributes:
        values: at least one, in the unit of the number.
        weights: how often each is taken, in any unit; all alike if empty.

    Raises:
        ModelError: for no values, ones that are not finite, or weights of another number, negative, or all zero.
    """

    values: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check, and freeze."""
        for word, given in (("values", self.values), ("weights", self.weights)):
            if isinstance(given, str) or not isinstance(given, Iterable):
                raise ModelError(f"{word} of a choice are numbers in a row, such as (1.0, 2.0), got {given!r}")
        values = tuple(finite("a value", value) for value in self.values)
        weights = tuple(not_negative("a weight", weight) for weight in self.weights)
        if not values:
            raise ModelError("a choice needs at least one value, got none")
        if weights and len(weights) != len(values):
            raise ModelError(f"{len(weights)} weights were given for {len(values)} values: one for each, or none")
        if weights and not sum(weights) > 0.0:
            raise ModelError("at least one weight must be greater than zero")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights)

    def quantile(self, share: Array) -> Array:
        """The value in whose part of (0, 1) each share lies.

        Args:
            share: in (0, 1), any shape.
        """
        bounds = np.cumsum(self.weights or np.ones(len(self.values)))
        below = np.asarray(share)[..., None] * bounds[-1] >= bounds[:-1]
        return np.asarray(np.array(self.values)[np.count_nonzero(below, axis=-1)], dtype=np.float64)


class Relative(Distribution):
    """A distribution of what is done to the nominal value."""

    def __post_init__(self) -> None:
        """Refuse what is no distribution, or a relative one."""
        if not isinstance(self.change, Distribution) or self.change.is_relative:
            raise ModelError(
                f"a distribution such as Uniform(0.9, 1.1), not relative itself, is needed; got {self.change!r}"
            )

    @property
    @abstractmethod
    def change(self) -> Distribution:
        """Of the factor or the offset."""

    @property
    def is_relative(self) -> bool:
        """Yes."""
        return True

    def quantile(self, share: Array) -> Array:
        """The changes below which these shares of all changes lie.

        Args:
            share: in (0, 1), any shape.
        """
        return self.change.quantile(share)


@dataclass(frozen=True)
class Scaled(Relative):
    """The nominal value times a factor: ``Scaled(Uniform(0.9, 1.1))`` is 10 % to either side.

    Attributes:
        factor: how the factor is distributed, without unit.

    Raises:
        ModelError: if that is no distribution, or a relative one.
    """

    factor: Distribution

    @property
    def change(self) -> Distribution:
        """The factor's."""
        return self.factor

    def around(self, nominal: float, share: Array) -> Array:
        """The nominal value times the factors.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return nominal * self.factor.quantile(share)


@dataclass(frozen=True)
class Shifted(Relative):
    """The nominal value plus an offset: ``Shifted(Normal(0.0, 0.01))``.

    Attributes:
        offset: how the offset is distributed, in the unit of the number.

    Raises:
        ModelError: if that is no distribution, or a relative one.
    """

    offset: Distribution

    @property
    def change(self) -> Distribution:
        """The offset's."""
        return self.offset

    def around(self, nominal: float, share: Array) -> Array:
        """The nominal value plus the offsets.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return nominal + self.offset.quantile(share)
