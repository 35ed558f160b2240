"""Piecewise polynomials of time as expressions, and how they are fitted to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import reals, vector
from ..symbolic.errors import ModelError, ShapeError

Array = NDArray[np.float64]

AFTER = 1e-9
"""Share of the span by which a time may lie beyond its ends and still count as on it."""


@dataclass(frozen=True, eq=False)
class Piecewise:
    """x(t) = Σ_j C_kj (t − t_k)^j in t_k ≤ t < t_{k+1}; before and after the span x rests where it begins and ends.

    Attributes:
        knots: t_0 < t_1 < …, shape (k + 1,) [s].
        coefficients: C, shape (k, degree + 1, n).
    """

    knots: Array
    coefficients: Array

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for name in ("knots", "coefficients"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def spline(cls, times: Array, x: Array) -> Piecewise:
        """The quintic spline through x, four times differentiable, that begins and ends at rest.

        Its rates and accelerations vanish at both ends.

        Args:
            times: shape (k,) [s], increasing, at least two.
            x: shape (k, n).
        """
        from scipy.interpolate import make_interp_spline  # a tenth of a second to import

        still: Any = [(1, np.zeros(x.shape[1])), (2, np.zeros(x.shape[1]))]
        fitted = make_interp_spline(times, x, k=5, bc_type=(still, still))
        return cls._of(fitted, fitted.t[5:-5])

    @classmethod
    def hermite(cls, times: Array, x: Array, rate: Array, acceleration: Array) -> Piecewise:
        """Quintic pieces with given values, rates and accelerations at the knots.

        Args:
            times: shape (k,) [s], increasing, at least two.
            x: shape (k, n).
            rate: dx/dt, shape (k, n).
            acceleration: d²x/dt², shape (k, n).
        """
        from scipy.interpolate import BPoly

        return cls._of(BPoly.from_derivatives(times, np.stack([x, rate, acceleration], axis=1)), times)

    @classmethod
    def least_squares(cls, times: Array, x: Array, tolerance: float, most: int) -> Piecewise:
        """The quintic spline of the fewest pieces, doubled until it misses no sample by more than a tolerance.

        Args:
            times: shape (k,) [s], increasing.
            x: shape (k, n).
            tolerance: greatest |x(t_i) − x_i|.
            most: number of pieces that are allowed.

        Raises:
            ModelError: if the tolerance is not reached.
        """
        from scipy.interpolate import make_lsq_spline

        pieces, missed = 1, np.inf
        while pieces <= most and len(times) > 2 * (pieces + 5):
            inner = np.linspace(float(times[0]), float(times[-1]), pieces + 1)
            knots = np.concatenate([np.full(5, times[0]), inner, np.full(5, times[-1])])
            fitted = make_lsq_spline(times, x, knots, k=5)
            missed = float(np.abs(fitted(times) - x).max())
            if missed <= tolerance:
                return cls._of(fitted, inner)
            pieces *= 2
        raise ModelError(
            f"{len(times)} samples are not met within {tolerance:g} by {pieces // 2} pieces of degree 5, which miss "
            f"one by {missed:.3g}: give more samples, larger pieces= or tolerance=, or samples of a smoother motion"
        )

    @classmethod
    def _of(cls, fitted: Callable[[Array, int], Array], knots: Array) -> Piecewise:
        """Taylor's coefficients of a quintic at the beginning of each piece."""
        terms = [np.asarray(fitted(knots[:-1], j)) / math.factorial(j) for j in range(6)]
        return cls(knots, np.stack(terms, axis=1))

    def expressions(self, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """x and its first two derivatives at t, each of shape (n,).

        Args:
            t: time [s], a symbol.
        """
        first, last = float(self.knots[0]), float(self.knots[-1])
        beyond = AFTER * (last - first)
        inside = ca.logic_and(t >= first - beyond, t <= last + beyond)
        now = ca.fmin(ca.fmax(t, first), last)
        here = [now >= float(start) for start in self.knots[1:-1]]
        # One of these is 1 and the others are 0, so that the sums below are choices without rounding.
        chosen = [a - b for a, b in zip([ca.SX(1), *here], [*here, ca.SX(0)], strict=True)]
        pick = ca.vertcat(*chosen)
        s = now - ca.dot(pick, ca.SX(ca.DM(self.knots[:-1])))
        degree = self.coefficients.shape[1] - 1
        powers = [ca.SX(ca.DM(self.coefficients[:, j].T)) @ pick for j in range(degree + 1)]
        value = _horner(powers, s)
        slope = _horner([j * c for j, c in enumerate(powers)][1:], s)
        bend = _horner([j * (j - 1) * c for j, c in enumerate(powers)][2:], s)
        still = ca.SX.zeros(value.numel())
        return value, ca.if_else(inside, slope, still), ca.if_else(inside, bend, still)


def read_times(times: ArrayLike, least: int) -> Array:
    """Times that increase, shape (k,) [s].

    Args:
        times: of shape (k,).
        least: the fewest that are of use.

    Raises:
        ShapeError: for another shape or a number that is not finite.
        ModelError: for too few, or ones that do not increase.
    """
    numbers = vector("times", times, np.size(times))
    if numbers.size < least:
        raise ModelError(f"at least {least} times are needed, got {numbers.size}")
    if not (np.diff(numbers) > 0.0).all():
        i = int(np.argmin(np.diff(numbers)))
        raise ModelError(
            f"times must increase, but times[{i}] = {numbers[i]:g} and times[{i + 1}] = {numbers[i + 1]:g}"
        )
    return numbers


def read_rows(name: str, values: ArrayLike, count: int, width: int) -> Array:
    """One row per time, shape (count, width).

    Args:
        name: for messages.
        values: of that shape.
        count: number of times.
        width: of a row.

    Raises:
        ShapeError: for another shape or a number that is not finite.
    """
    try:
        array = reals("values", values)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be numbers of shape ({count}, {width}), got {values!r}") from error
    if array.shape != (count, width):
        raise ShapeError(f"{name} must have shape ({count}, {width}), a row for each time, got {array.shape}")
    vector(name, array.reshape(-1), array.size)
    return array


def _horner(powers: list[ca.SX], s: ca.SX) -> ca.SX:
    total = powers[-1]
    for c in reversed(powers[:-1]):
        total = total * s + c
    return total
