"""The factorized mass matrix together with the factorized matrix A M⁻¹ Aᵀ of the natural constraints.

Accelerations follow from forces in two halves, L⁻¹ and L⁻ᵀ; products of rows and accelerations need only the first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca

from ..symbolic.errors import ModelError
from ..symbolic.linear_algebra import Ldl, SemidefiniteLdl
from .dynamics import Factor
from .spatial import mirror_lower_triangle

SMALLEST_PIVOT = 1e-13
"""Relative size of a pivot below which it is rounding error."""

Redundant = Literal["refused", "least-norm"]
"""Treatment of natural rows that depend on others: an error, or reactions of least norm."""


@dataclass(frozen=True, eq=False)
class NaturalFactor:
    """Factorized A M⁻¹ Aᵀ.

    Attributes:
        factor: L D Lᵀ.
        pivots: D, the squared length of each row of A orthogonal to the rows before it, in the metric M⁻¹, shape (k,).
        scale: the largest diagonal entry of A M⁻¹ Aᵀ among the rows of the same constraint, which share a unit; an
            upper bound of each pivot. Shape (k,).
    """

    factor: Ldl | SemidefiniteLdl
    pivots: ca.SX
    scale: ca.SX

    @property
    def relative_pivots(self) -> ca.SX:
        """D over its scale, in [0, 1], shape (k,); zero where all rows of a constraint vanish."""
        rows = range(self.pivots.numel())
        share = [ca.if_else(self.scale[i] > 0, self.pivots[i] / self.scale[i], 0) for i in rows]
        return ca.vertcat(ca.SX(0, 1), *share)

    @property
    def independent(self) -> ca.SX:
        """1 where a row is used, 0 where it is left out because it depends on others, shape (k,)."""
        return self.factor.independent if isinstance(self.factor, SemidefiniteLdl) else ca.SX.ones(self.pivots.numel())

    def solve(self, right: ca.SX) -> ca.SX:
        """Return the reactions μ with A M⁻¹ Aᵀ μ = right, for a right side of shape (k, n).

        They are NaN where a pivot is rounding error, as at a singular position: a division by it would return
        meaningless numbers.
        """
        reactions = self.factor.solve(right)
        return reactions if isinstance(self.factor, SemidefiniteLdl) else reactions * self._valid

    @functools.cached_property
    def _valid(self) -> ca.SX:
        """1, or NaN where a pivot is rounding error; pivots that equal their scale by construction are skipped."""
        first = (i for i in range(self.pivots.numel()) if not ca.is_equal(self.pivots[i], self.scale[i]))
        shares = [self.pivots[i] / self.scale[i] for i in first]
        if not shares:
            return ca.SX(1)
        least = functools.reduce(ca.fmin, shares)
        return ca.if_else(least > SMALLEST_PIVOT, 1, float("nan"))


def require_redundancy_mode(owner: str, redundant: str) -> None:
    """Raise ModelError unless ``redundant`` is one of :data:`Redundant`.

    Args:
        owner: name of the robot, for the message.
        redundant: value to check.
    """
    if redundant not in get_args(Redundant):
        words = " or ".join(map(repr, get_args(Redundant)))
        raise ModelError(f"{owner}: redundant must be {words}, got {redundant!r}")


def natural_factor(matrix: ca.SX, sizes: Sequence[int], redundant: Redundant) -> NaturalFactor:
    """Factorize A M⁻¹ Aᵀ, which solves for the reactions μ.

    Args:
        matrix: A M⁻¹ Aᵀ, shape (k, k).
        sizes: number of rows of each natural constraint, which share a unit.
        redundant: ``"refused"`` for independent rows; with ``"least-norm"`` rows may depend on others, and the solution
            μ of least norm is returned.
    """
    each: list[ca.SX] = []
    for size in sizes:
        first = len(each)
        largest = matrix[first, first]
        for j in range(first + 1, first + size):
            largest = ca.fmax(largest, matrix[j, j])
        each += [largest] * size
    scale = ca.vertcat(ca.SX(0, 1), *each)
    if redundant == "refused":
        plain = Ldl.of(matrix)
        return NaturalFactor(plain, plain.diagonal, scale)
    passing = SemidefiniteLdl.of(matrix, scale)
    return NaturalFactor(passing, passing.pivots, scale)


@dataclass(frozen=True, eq=False)
class HalfSolve:
    """Forward half of the solution from forces to accelerations: sufficient for products of rows and accelerations.

    Attributes:
        free: y = L⁻¹ F without natural constraints, shape (nv, k).
        reactions: μ of the natural constraints, shape (rows of A, k).
    """

    free: ca.SX
    reactions: ca.SX


@dataclass(frozen=True, eq=False)
class ConstrainedFactor:
    """M = L D Lᵀ and the natural rows A a = b.

    With Y = L⁻¹ Aᵀ the matrix A M⁻¹ Aᵀ is Yᵀ D⁻¹ Y, and M a = F + Aᵀ μ has the solution a = L⁻ᵀ D⁻¹ (L⁻¹ F + Y μ):
    however many columns F has, L⁻ᵀ is applied only to the column that is needed.

    Attributes:
        factor: factorized mass matrix.
        rows: Y = L⁻¹ Aᵀ, shape (nv, rows of A).
        weighted: D⁻¹ Y, shape (nv, rows of A).
        natural: factorized A M⁻¹ Aᵀ.
    """

    factor: Factor
    rows: ca.SX
    weighted: ca.SX
    natural: NaturalFactor

    @classmethod
    def of(cls, factor: Factor, rows: ca.SX, sizes: Sequence[int], redundant: Redundant) -> ConstrainedFactor:
        """Factorize A M⁻¹ Aᵀ.

        Args:
            factor: factorized mass matrix.
            rows: A, shape (rows of A, nv).
            sizes: number of rows of each constraint that the rows belong to.
            redundant: treatment of rows that depend on others.
        """
        halves = factor.forward(rows.T)
        weighted = factor.weighted(halves)
        matrix = symmetric_product(halves, weighted)
        return cls(factor, halves, weighted, natural_factor(matrix, sizes, redundant))

    def half_solve(self, forces: ca.SX) -> HalfSolve:
        """Return the forward half for generalized forces, with b = 0.

        Args:
            forces: F, shape (nv, k).
        """
        return self.solve_constrained(self.factor.forward(forces), ca.SX(self.rows.size2(), forces.size2()))

    def solve_constrained(self, free: ca.SX, right: ca.SX) -> HalfSolve:
        """Solve for the reactions, given the forward half without constraints.

        Args:
            free: L⁻¹ F, shape (nv, k).
            right: b, shape (rows of A, k).
        """
        if self.rows.size2() == 0:
            return HalfSolve(free, ca.SX(0, free.size2()))
        return HalfSolve(free, self.natural.solve(right - self.weighted.T @ free))

    def motion(self, half: HalfSolve) -> tuple[ca.SX, ca.SX]:
        """Return accelerations, shape (nv, k), and reactions μ, shape (rows of A, k).

        Args:
            half: forward half for the forces.
        """
        total = half.free if self.rows.size2() == 0 else half.free + self.rows @ half.reactions
        return self.factor.backward(self.factor.weighted(total)), half.reactions


def symmetric_product(halves: ca.SX, weighted: ca.SX) -> ca.SX:
    """Return Fᵀ M⁻¹ F = Yᵀ D⁻¹ Y, shape (k, k), exactly symmetric.

    Args:
        halves: Y = L⁻¹ F, shape (nv, k).
        weighted: D⁻¹ Y, shape (nv, k).
    """
    return mirror_lower_triangle(halves.T @ weighted) if halves.size2() else ca.SX(0, 0)
