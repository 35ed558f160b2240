"""Distributions about the nominal value of what they vary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from .distribution import Distribution

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scaled(Distribution):
    """The nominal value times a factor: ``Scaled(Uniform(0.9, 1.1))`` is 10 % to either side.

    Attributes:
        factor: how the factor is distributed, without unit.

    Raises:
        ModelError: if that is no distribution, or a relative one.
    """

    factor: Distribution

    def __post_init__(self) -> None:
        """Check."""
        _require_absolute(self.factor)

    @property
    def is_relative(self) -> bool:
        """Yes."""
        return True

    def quantile(self, share: Array) -> Array:
        """The factors below which these shares of all factors lie.

        Args:
            share: in (0, 1), any shape.
        """
        return self.factor.quantile(share)

    def around(self, nominal: float, share: Array) -> Array:
        """The nominal value times the factors.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return nominal * self.factor.quantile(share)


@dataclass(frozen=True)
class Shifted(Distribution):
    """The nominal value plus an offset: ``Shifted(Normal(0.0, 0.01))``.

    Attributes:
        offset: how the offset is distributed, in the unit of the number.

    Raises:
        ModelError: if that is no distribution, or a relative one.
    """

    offset: Distribution

    def __post_init__(self) -> None:
        """Check."""
        _require_absolute(self.offset)

    @property
    def is_relative(self) -> bool:
        """Yes."""
        return True

    def quantile(self, share: Array) -> Array:
        """The offsets below which these shares of all offsets lie.

        Args:
            share: in (0, 1), any shape.
        """
        return self.offset.quantile(share)

    def around(self, nominal: float, share: Array) -> Array:
        """The nominal value plus the offsets.

        Args:
            nominal: value without variation, in the unit of the number.
            share: in (0, 1), any shape.
        """
        return nominal + self.offset.quantile(share)


def _require_absolute(distribution: Distribution) -> None:
    if not isinstance(distribution, Distribution) or distribution.is_relative:
        raise ModelError(
            f"a distribution such as Uniform(0.9, 1.1), not relative itself, is needed; got {distribution!r}"
        )
