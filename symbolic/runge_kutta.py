"""Explicit Runge–Kutta methods, for expressions and for arrays alike."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import ModelError

CONSISTENCY_ROUNDING = 1e-12


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge–Kutta method: k_i = f(t + c_i h, x + h Σ_j a_ij k_j), x₊ = x + h Σ_i b_i k_i.

    Attributes:
        a: strictly lower triangular, s rows of s numbers.
        b: weights, s of them.
        c: times, s of them.
    """

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    c: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse a method that is not explicit or not consistent."""
        s = len(self.b)
        square = s > 0 and len(self.a) == len(self.c) == s and all(len(row) == s for row in self.a)
        explicit = square and not np.triu(np.array(self.a)).any()
        # Written so that NaN is refused too.
        if not (
            explicit and np.abs([sum(self.b) - 1.0, *np.sum(self.a, axis=1) - self.c]).max() <= CONSISTENCY_ROUNDING
        ):
            raise ModelError("an explicit method requires a strictly lower triangular, Σ b_i = 1 and c_i = Σ_j a_ij")

    def step(self, f: Callable[[Any, Any], Any], t: Any, x: Any, h: Any) -> Any:  # noqa: ANN401 - expressions or arrays
        """State at t + h of ẋ = f(t, x).

        Args:
            f: derivative as a function of time and state.
            t: time.
            x: state, an expression or an array.
            h: step.
        """
        slopes: list[Any] = []
        for row, time in zip(self.a, self.c, strict=True):
            slopes.append(f(t + time * h, x + _weighted_sum(slopes, row) * h) if slopes else f(t, x))
        return x + _weighted_sum(slopes, self.b) * h

    def amplification(self, z: complex) -> float:
        """|R(z)|, the factor by which one step h multiplies a solution of ẏ = λ y, with z = λ h.

        Args:
            z: λ h.
        """
        size = float(abs(self.step(lambda _, y: z * y, 0.0, 1.0 + 0.0j, 1.0)))
        # Terms of the polynomial that overflow give NaN.
        return math.inf if math.isnan(size) and cmath.isfinite(z) else size


def _weighted_sum(slopes: list[Any], weights: tuple[float, ...]) -> Any:  # noqa: ANN401 - expressions or arrays
    """Σ w_i k_i, in the order in which compiled loops add them up."""
    first, *others = zip(slopes, weights[: len(slopes)], strict=True)
    total = first[0] * first[1]
    for slope, weight in others:
        if weight != 0.0:
            total = total + slope * weight
    return total


EULER = Tableau(((0.0,),), (1.0,), (0.0,))
"""x₊ = x + h f(t, x), of order 1."""

CLASSICAL = Tableau(
    ((0.0, 0.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0), (0.0, 0.5, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
    (0.0, 0.5, 0.5, 1.0),
)
"""The classical method of order 4; its local error is of order h⁵."""


def rk4_step(f: Callable[[Any, Any], Any], t: Any, x: Any, h: Any) -> Any:  # noqa: ANN401 - expressions or arrays
    """State at t + h of ẋ = f(t, x), by the classical method.

    Args:
        f: derivative as a function of time and state.
        t: time.
        x: state, an expression or an array.
        h: step.
    """
    return CLASSICAL.step(f, t, x, h)
