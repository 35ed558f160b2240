"""Distributions about the nominal value of what they vary."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from .distribution import Distribution

Array = NDArray[np.float64]


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
