"""R-functions: operations on numbers whose sign depends on the signs of their arguments alone; the maximum is one."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.validation import finite


def column_maximum(values: ca.SX) -> ca.SX:
    """Largest entry of a column.

    If several are largest, its derivative is that of the first, not the mean of two as with ``fmax``.

    Args:
        values: shape (k,), k ≥ 1.
    """
    first, *others = ca.vertsplit(values)
    for value in others:
        first = ca.if_else(value > first, value, first)
    return first


POWERS = (2, 4, 6, 8)
LEAST = 1e-300
"""Prevents 0/0 where both arguments vanish; far below rounding anywhere else."""


class RFunction(ABC):
    """An R-conjunction a ∧ b, positive if and only if both arguments are, and the R-disjunction a ∨ b = −(−a ∧ −b).

    Of functions that are positive outside of two solids, the conjunction is positive outside of their union and the
    disjunction outside of their intersection; both vanish on its boundary and nowhere else [Rvachev1982]_.

    Where one argument vanishes and the other is positive (negative for ∨), ∂/∂a = 1 and ∂/∂b = 0: what is a distance to
    first order stays one. Where both vanish, at a corner, there is no derivative; automatic differentiation returns a
    finite value without meaning there. All are homogeneous: (sa) ∧ (sb) = s (a ∧ b) for s > 0.
    """

    @abstractmethod
    def conjunction(self, a: ca.SX, b: ca.SX) -> ca.SX:
        """The scalar a ∧ b of two scalars."""

    def disjunction(self, a: ca.SX, b: ca.SX) -> ca.SX:
        """The scalar a ∨ b = −(−a ∧ −b) of two scalars."""
        return -self.conjunction(-a, -b)

    def all_of(self, values: Sequence[ca.SX]) -> ca.SX:
        """The conjunction of one or more scalar ``values``, from the left."""
        return functools.reduce(self.conjunction, _one_or_more(values))

    def any_of(self, values: Sequence[ca.SX]) -> ca.SX:
        """The disjunction of one or more scalar ``values``, from the left."""
        return functools.reduce(self.disjunction, _one_or_more(values))


def _one_or_more(values: Sequence[ca.SX]) -> Sequence[ca.SX]:
    if not len(values):
        raise ModelError("values must hold at least one scalar, got none")
    return values


@dataclass(frozen=True)
class RAlpha(RFunction):
    """Rvachev's R_α: a ∧ b = (a + b − √(a² + b² − 2αab))/(1 + α); R₀ with α = 0.

    Analytic except where both arguments vanish. With α = 0 the disjunction of k equal positive numbers is at least
    2^(k−1) times each: far from a solid with many sides it is no distance.

    Attributes:
        alpha: −1 < α < 1; towards 1 it approaches the smaller of the two.
    """

    alpha: float = 0.0

    def __post_init__(self) -> None:
        """Check the range."""
        if not -1.0 < finite("alpha", self.alpha) < 1.0:
            raise ModelError(f"alpha of an R-function must lie between -1 and 1, got {self.alpha!r}; 0 gives R₀")

    def conjunction(self, a: ca.SX, b: ca.SX) -> ca.SX:
        """(a + b − √(a² + b² − 2αab))/(1 + α)."""
        return (a + b - ca.sqrt(a**2 + b**2 - 2 * self.alpha * a * b + LEAST)) / (1 + self.alpha)


@dataclass(frozen=True)
class RPower(RFunction):
    """Rvachev's R_p: a ∧ b = a + b − (a^p + b^p)^(1/p).

    Near a boundary it agrees with its function to order p; analytic except where both arguments vanish.

    Attributes:
        power: p, one of 2, 4, 6 and 8; R₀ with 2.
    """

    power: int = 4

    def __post_init__(self) -> None:
        """Check the range."""
        require_power(self.power)

    def conjunction(self, a: ca.SX, b: ca.SX) -> ca.SX:
        """The value a + b − (a^p + b^p)^(1/p)."""
        return a + b - ca.power(a**self.power + b**self.power + LEAST, 1 / self.power)


@dataclass(frozen=True)
class RNorm(RFunction):
    """Conjunction by norms: a ∧ b = (a^−p + b^−p)^(−1/p) for a, b > 0, else −(a₋^p + b₋^p)^(1/p), a₋ = max(−a, 0).

    The R-equivalence of [BiswasShapiro2004]_ with a norm for its other side. It is associative, so that the order of
    parts does not matter. If |∇a| ≤ 1 and |∇b| ≤ 1, then |∇(a ∧ b)| ≤ 1 where it is positive: lower bounds of a
    distance give a lower bound. Of k positive numbers the conjunction is between the least m of them and m k^(−1/p),
    the disjunction between the largest M and M k^(1/p).

    The conjunction is p times continuously differentiable across a = 0 with b > 0, p − 1 times across b = 0 with a < 0;
    analytic elsewhere except where both vanish.

    Attributes:
        power: p, one of 2, 4, 6 and 8; the larger, the sharper the transition.
    """

    power: int = 4

    def __post_init__(self) -> None:
        """Check the range."""
        require_power(self.power)

    def conjunction(self, a: ca.SX, b: ca.SX) -> ca.SX:
        """Value of one of the two branches, each protected from the other's 0/0."""
        p = self.power
        negative = ca.logic_or(a < 0, b < 0)
        up = [ca.if_else(negative, 1, e) for e in (a, b)]
        down = [ca.if_else(e < 0, e, 0) ** p for e in (a, b)]
        product = up[0] * up[1] / ca.power(up[0] ** p + up[1] ** p + LEAST, 1 / p)
        return ca.if_else(negative, -ca.power(down[0] + down[1] + LEAST, 1 / p), product)


def require_power(power: int) -> None:
    """Raise ModelError for a power p of an R-function that is not 2, 4, 6 or 8.

    Args:
        power: p.
    """
    if isinstance(power, bool) or power not in POWERS:
        raise ModelError(f"power of an R-function must be one of {', '.join(map(str, POWERS))}, got {power!r}")
