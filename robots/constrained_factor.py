"""The factorized mass matrix together with the factorized matrix A M⁻¹ Aᵀ of the natural constraints.

Forces are turned into accelerations in two halves, L⁻¹ and L⁻ᵀ; products of rows and accelerations need the first only.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.linear_algebra import Ldl, SemidefiniteLdl
from .dynamics import Factor
from .spatial import mirror_lower_triangle

SMALLEST_PIVOT = 1e-13
"""Share of its scale below which a pivot is rounding."""

Redundant = Literal["refused", "least-norm"]
"""What becomes of natural rows that depend on others: they are an error, or their reactions are of least norm."""


@dataclass(frozen=True, eq=False)
class NaturalFactor:
    """Factorized A M⁻¹ Aᵀ.

    Attributes:
        factor: L D Lᵀ.
        pivots: D, the square of what is left of each row of A outside the rows before it, in the metric M⁻¹, shape
            (k,).
        scale: the largest diagonal entry of A M⁻¹ Aᵀ among the rows of the same constraint, which share a unit; each
            pivot is at most that. Shape (k,).
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
    def kept(self) -> ca.SX:
        """1 where a row is used, 0 where it is left out as one that depends on others, shape (k,)."""
        return self.factor.kept if isinstance(self.factor, SemidefiniteLdl) else ca.SX.ones(self.pivots.numel())

    def solve(self, right: ca.SX) -> ca.SX:
        """The reactions μ with A M⁻¹ Aᵀ μ = right, for a right side of shape (k, n).

        They are NaN where nothing but rounding is left of a pivot, as at a singular position: dividing by it would give
        numbers.
        """
        found = self.factor.solve(right)
        return found if isinstance(self.factor, SemidefiniteLdl) else found * self._sound

    @functools.cached_property
    def _sound(self) -> ca.SX:
        """1, or NaN where a pivot is rounding; a row that is alone in its constraint has nothing to be small beside."""
        first = (i for i in range(self.pivots.numel()) if not ca.is_equal(self.pivots[i], self.scale[i]))
        shares = [self.pivots[i] / self.scale[i] for i in first]
        if not shares:
            return ca.SX(1)
        least = functools.reduce(ca.fmin, shares)
        return ca.if_else(least > SMALLEST_PIVOT, 1, float("nan"))


def require_redundancy_mode(owner: str, redundant: str) -> None:
    """Raise ModelError for a word that is not one of :data:`Redundant`.

    Args:
        owner: the robot's name, for the message.
        redundant: what was given.
    """
    if redundant not in get_args(Redundant):
        words = " or ".join(map(repr, get_args(Redundant)))
        raise ModelError(f"{owner}: redundant must be {words}, got {redundant!r}")


def natural_factor(
    matrix: ca.SX, natural: Sequence[Constraint], coordinates: Coordinates, redundant: Redundant
) -> NaturalFactor:
    """Factorized A M⁻¹ Aᵀ, which solves for the reactions μ.

    Args:
        matrix: A M⁻¹ Aᵀ, shape (k, k).
        natural: the constraints, of which the rows of each share a unit.
        coordinates: of the robot.
        redundant: ``"refused"`` for independent rows; with ``"least-norm"`` rows may depend on others, and of all μ
            that hold the robot together those of least |μ| are found.
    """
    each: list[ca.SX] = []
    for constraint in natural:
        first, size = len(each), constraint.residual(coordinates).numel()
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
    """Half of the way from forces to accelerations: all that products of rows and accelerations need.

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
    however many columns F has, only the one that is asked for goes the second half of the way.

    Attributes:
        factor: the mass matrix.
        rows: Y = L⁻¹ Aᵀ, shape (nv, rows of A).
        weighted: D⁻¹ Y, shape (nv, rows of A).
        natural: A M⁻¹ Aᵀ, factorized.
    """

    factor: Factor
    rows: ca.SX
    weighted: ca.SX
    natural: NaturalFactor

    @classmethod
    def of(
        cls,
        factor: Factor,
        rows: ca.SX,
        natural: Sequence[Constraint],
        coordinates: Coordinates,
        redundant: Redundant,
    ) -> ConstrainedFactor:
        """Factorize A M⁻¹ Aᵀ.

        Args:
            factor: the mass matrix.
            rows: A, shape (rows of A, nv).
            natural: the constraints that the rows are of.
            coordinates: of the robot.
            redundant: what becomes of rows that depend on others.
        """
        halves = factor.forward(rows.T)
        weighted = factor.weighted(halves)
        matrix = symmetric_product(halves, weighted)
        return cls(factor, halves, weighted, natural_factor(matrix, natural, coordinates, redundant))

    def half_solve(self, forces: ca.SX) -> HalfSolve:
        """What generalized forces add, as a half.

        Args:
            forces: F, shape (nv, k).
        """
        return self.solve_constrained(self.factor.forward(forces), ca.SX(self.rows.size2(), forces.size2()))

    def solve_constrained(self, free: ca.SX, right: ca.SX) -> HalfSolve:
        """A half to which the reactions are found.

        Args:
            free: L⁻¹ F, shape (nv, k).
            right: b, shape (rows of A, k).
        """
        if self.rows.size2() == 0:
            return HalfSolve(free, ca.SX(0, free.size2()))
        return HalfSolve(free, self.natural.solve(right - self.weighted.T @ free))

    def motion(self, half: HalfSolve) -> tuple[ca.SX, ca.SX]:
        """Accelerations, shape (nv, k), and reactions μ, shape (rows of A, k).

        Args:
            half: of forces.
        """
        moved = half.free if self.rows.size2() == 0 else half.free + self.rows @ half.reactions
        return self.factor.backward(self.factor.weighted(moved)), half.reactions


def symmetric_product(halves: ca.SX, weighted: ca.SX) -> ca.SX:
    """Fᵀ M⁻¹ F = Yᵀ D⁻¹ Y, shape (k, k), symmetric to the last digit.

    Args:
        halves: Y = L⁻¹ F, shape (nv, k).
        weighted: D⁻¹ Y, shape (nv, k).
    """
    return mirror_lower_triangle(halves.T @ weighted) if halves.size2() else ca.SX(0, 0)
