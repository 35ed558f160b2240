"""One of some values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite, not_negative
from ...symbolic.errors import ModelError
from .distribution import Distribution

Array = NDArray[np.float64]


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
