"""The linear equation that each row of a servo-program is made to obey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...symbolic.arrays import positive, reals
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters, Range

Poles = Sequence[Sequence[complex]]

DEFAULT = 2.0
"""Of rates [1/s]."""


@dataclass(frozen=True, eq=False)
class RowGains:
    """y^{(n)} + k_{n−1} y^{(n−1)} + … + k₀ y = 0.

    Attributes:
        coefficients: k₀ … k_{n−1}, expressions in the parameters.
        parameters: the rate, or the coefficients themselves.
    """

    coefficients: tuple[ca.SX, ...]
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def of_rate(cls, row: str, order: int, rate: float) -> RowGains:
        """(d/dt + rate)ⁿ y = 0, so that all poles lie at −rate; the rate is a parameter.

        Args:
            row: its name, in front of the parameter's.
            order: n.
            rate: [1/s].
        """
        parameters = Parameters.declare({"rate": rate}, row, ranges={"rate": Range.POSITIVE})
        k = parameters.symbols[0]
        return cls(tuple(math.comb(order, j) * k ** (order - j) for j in range(order)), parameters)

    @classmethod
    def of_poles(cls, row: str, order: int, poles: Sequence[complex]) -> RowGains:
        """The equation with given poles; its coefficients are parameters.

        Args:
            row: its name, in front of the parameters'.
            order: n.
            poles: n of them, complex ones in conjugate pairs [1/s].

        Raises:
            ModelError: for another number, poles that are no pairs, or one that is not stable.
        """
        try:
            given = np.asarray(poles, dtype=np.complex128).reshape(-1)
        except (TypeError, ValueError) as error:
            raise ModelError(f"the poles of row {row!r} must be numbers [1/s], got {poles!r}") from error
        if given.shape != (order,):
            raise ModelError(f"row {row!r} has order {order} and needs as many poles, got {given.size}: {poles!r}")
        if not np.isfinite(given).all() or not (np.real(given) < 0.0).all():
            raise ModelError(f"every pole of row {row!r} must have a negative real part, got {poles!r}")
        polynomial = np.asarray(np.poly(given), dtype=np.complex128)
        real = np.asarray(np.real(polynomial), dtype=np.float64)
        if np.abs(polynomial - real).max() > 1e-9 * np.abs(real).max():
            raise ModelError(f"complex poles of row {row!r} must come in conjugate pairs, got {poles!r}")
        values = {f"k{j}": float(real[order - j]) for j in range(order)}
        parameters = Parameters.declare(values, row, ranges=dict.fromkeys(values, Range.POSITIVE))
        return cls(tuple(parameters.symbols[j] for j in range(order)), parameters)

    @property
    def companion(self) -> ca.SX:
        """State matrix of the equation in (y, ẏ, …)."""
        n = len(self.coefficients)
        matrix = ca.SX.zeros(n, n)
        for j in range(n - 1):
            matrix[j, j + 1] = 1
        for j, k in enumerate(self.coefficients):
            matrix[n - 1, j] = -k
        return matrix

    def highest(self, chain: Sequence[ca.SX]) -> ca.SX:
        """The derivative of order n that the equation asks for.

        Args:
            chain: y, ẏ, …, n of them.
        """
        total = ca.SX(0)
        for k, y in zip(self.coefficients, chain, strict=True):
            total = total - k * y
        return total


def row_gains(
    rows: Sequence[str], orders: Sequence[int], rates: float | Sequence[float] | None, poles: Poles | None
) -> tuple[RowGains, ...]:
    """The equation of each row.

    Args:
        rows: names.
        orders: of the equations.
        rates: one for all, or one for each [1/s]; 2 for all if neither these nor poles are given.
        poles: of each row, in place of rates.

    Raises:
        ModelError: for both, for another number than there are rows, or a value out of its range.
    """
    if poles is not None:
        if rates is not None:
            raise ModelError(f"rates and poles say the same: give one of them, got {rates!r} and {poles!r}")
        if not isinstance(poles, Sequence | np.ndarray) or isinstance(poles, str) or len(poles) != len(rows):
            raise ModelError(
                f"poles must be a list of those of each of {', '.join(map(repr, rows))}, [[-2, -3], …], got {poles!r}"
            )
        return tuple(RowGains.of_poles(*each) for each in zip(rows, orders, poles, strict=True))
    try:
        given = np.broadcast_to(reals("rates", DEFAULT if rates is None else rates), (len(rows),)).tolist()
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"rates must be one number, or one for each of {', '.join(map(repr, rows))}, got {rates!r}"
        ) from error
    each = [positive(f"the rate of {row!r} [1/s]", rate) for row, rate in zip(rows, given, strict=True)]
    return tuple(RowGains.of_rate(*one) for one in zip(rows, orders, each, strict=True))
