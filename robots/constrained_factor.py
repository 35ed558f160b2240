"""The factorized mass matrix together with the natural constraints: from forces to accelerations by way of halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from .dynamics import Factor
from .natural_factor import NaturalFactor, Redundant, natural_factor
from .spatial import mirrored

if TYPE_CHECKING:
    from .robot import Robot


@dataclass(frozen=True, eq=False)
class Half:
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

    def half(self, forces: ca.SX) -> Half:
        """What generalized forces add, as a half.

        Args:
            forces: F, shape (nv, k).
        """
        return self.held(self.factor.forward(forces), ca.SX(self.rows.size2(), forces.size2()))

    def held(self, free: ca.SX, right: ca.SX) -> Half:
        """A half to which the reactions are found.

        Args:
            free: L⁻¹ F, shape (nv, k).
            right: b, shape (rows of A, k).
        """
        if self.rows.size2() == 0:
            return Half(free, ca.SX(0, free.size2()))
        return Half(free, self.natural.solve(right - self.weighted.T @ free))

    def motion(self, half: Half) -> tuple[ca.SX, ca.SX]:
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
    return mirrored(halves.T @ weighted) if halves.size2() else ca.SX(0, 0)


def half_moved_by(robot: Robot, force: ca.SX) -> Half:
    """Half of the way to the acceleration of a robot, natural constraints obeyed.

    Args:
        robot: what moves.
        force: all that acts besides what is in h, shape (nv,).
    """
    A, b = robot.natural_form
    if robot.factor is robot.dynamics.factor:
        return robot.constrained_factor.held(robot.dynamics.moved(force), b)
    added = A.T @ (robot.augmentation * b)
    return robot.constrained_factor.held(robot.factor.forward(force - robot.bias + added), b)
