"""Estimates of unknown parameters: bounds, initial values and projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, ParameterError
from ...symbolic.validation import finite
from ..regressor import ParameterProduct

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ParameterEstimate:
    """Memory of an adaptive law.

    Attributes:
        time: time of the last sample [s]; None before the first.
        values: π̂, shape (k,).
        slope: −Γ Yᵀs at the last sample, shape (k,).
    """

    time: float | None
    values: Array
    slope: Array

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.values, self.slope):
            array.setflags(write=False)


@dataclass(frozen=True, eq=False)
class UnknownParameters:
    """The unknown parameters and their bounds.

    Attributes:
        products: parameters of a robot, or products of them, k of them.
        limits: least and greatest value of each parameter.
        bounds: least and greatest value of each product, shape (k, 2).
    """

    products: tuple[ParameterProduct, ...]
    limits: Mapping[str, tuple[float, float]]
    bounds: Array

    @classmethod
    def of(
        cls,
        products: tuple[ParameterProduct, ...],
        unknown: Mapping[str, tuple[float, float]],
        nominal: Mapping[str, float],
    ) -> UnknownParameters:
        """Check the bounds and build the estimates.

        Args:
            products: the products that are estimated.
            unknown: least and greatest value of each parameter.
            nominal: values of the model, at which estimates start.

        Raises:
            ModelError: for invalid bounds, or bounds that exclude the model's value.
        """
        limits = {name: _bounds(name, pair, nominal.get(name)) for name, pair in unknown.items()}
        bounds = np.array([product.bounds(limits) for product in products])
        bounds.setflags(write=False)
        return cls(products, limits, bounds)

    @property
    def widths(self) -> Array:
        """Width of the bounds of each product, shape (k,)."""
        return np.asarray(self.bounds[:, 1] - self.bounds[:, 0], dtype=np.float64)

    def first(self, names: Sequence[str], numbers: Array) -> Array:
        """Return the initial estimates, shape (k,).

        Args:
            names: names of all parameters.
            numbers: values of all parameters.

        Raises:
            ParameterError: for a value out of its bounds.
        """
        given = {name: float(numbers[names.index(name)]) for name in self.limits}
        for name, value in given.items():
            low, high = self.limits[name]
            if not low <= value <= high:
                raise ParameterError(f"{name!r} must start within its bounds [{low:g}, {high:g}], got {value:g}")
        return np.array([product.value(given) for product in self.products])

    def start(self, symbols: Mapping[str, ca.SX]) -> ca.SX:
        """Return the initial estimates as expressions, NaN for a value out of its bounds, shape (k,).

        Args:
            symbols: unknown parameters by name.
        """
        inside = ca.SX(1)
        for name, (low, high) in self.limits.items():
            inside = ca.logic_and(inside, ca.logic_and(symbols[name] >= low, symbols[name] <= high))
        values = ca.vertcat(*(product.value(symbols) for product in self.products))
        return ca.if_else(inside, values, ca.SX.nan(len(self.products), 1))

    def projected(self, values: Array) -> Array:
        """Return the nearest values within the bounds, shape (k,).

        Args:
            values: estimates, shape (k,).
        """
        return np.clip(values, self.bounds[:, 0], self.bounds[:, 1])


def _bounds(name: str, pair: tuple[float, float], value: float | None) -> tuple[float, float]:
    try:
        first, second = pair
    except (TypeError, ValueError) as error:
        raise ModelError(f"unknown[{name!r}] must be its least and its greatest value, got {pair!r}") from error
    low, high = finite(f"bound of {name!r}", first), finite(f"bound of {name!r}", second)
    if not low < high:
        raise ModelError(f"the bounds of {name!r} must be a smaller and a larger number, got {pair!r}")
    if value is not None and not low <= value <= high:
        raise ModelError(
            f"the model's {name!r}, at which the estimate starts, is {value:g}, outside its bounds [{low:g}, {high:g}]"
        )
    return low, high
