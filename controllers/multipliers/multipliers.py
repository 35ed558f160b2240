"""The abstract method that finds multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca

from ...robots.augmentation import require_regular
from ...robots.constrained_factor import Half, half_moved_by
from ...symbolic.pickles import Portable
from ..program import Program
from .capability import DEPENDENCE, REGULAR, Capability
from .movable import HalvedMotion, Movable, sound

MISSED = 1e-5
"""A row holds if it misses its right side by not more than this share of what it is made of."""
ROUNDING = 1e-8
"""Nor by this many units of it, m/s² or rad/s²: deviations that are rounding may be of any relative size."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Solution of K λ = r.

    Attributes:
        values: λ, shape (m,).
        pivots: D of K = L D Lᵀ, shape (m,): the square of what is left of each row outside the span of the rows before
            it, in the metric of K; zero where a row depends on them or vanishes.
        holds: 1 where a row holds, 0 where it contradicts others and NaN where a number is none, shape (m,); None from
            a method for independent rows, which the pivots judge.
        misses: r − K λ where a row does not hold, else 0, in its own unit, shape (m,); None likewise.
    """

    values: ca.SX
    pivots: ca.SX
    holds: ca.SX | None = None
    misses: ca.SX | None = None


class MultiplierMethod(Portable, ABC):
    """Way of solving K λ = r, where K = Θ M⁻¹ Θᵀ is symmetric and positive semidefinite."""

    handles_dependence: bool = False
    """Whether rows may depend on each other, vanish, or be more than the velocities; if so, ``holds`` judges them."""

    @property
    def handles(self) -> frozenset[Capability]:
        """What it deals with; what is not among it is refused when a controller is built, or has a status."""
        return REGULAR | DEPENDENCE if self.handles_dependence else REGULAR

    @abstractmethod
    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Multipliers as expressions.

        Args:
            matrix: K, shape (m, m).
            right: r, shape (m,).
            scale: the largest K_jj, as it would be without natural constraints, of the rows that share a unit with
                each, shape (m,); its own K_ii if not given.
        """

    def movable(self, program: Program, theta: ca.SX, beta: ca.SX) -> Movable:
        """By what the program's model is moved; the robot itself, unless a method puts something in its place.

        Args:
            program: what is solved.
            theta: Θ with zeros in the rows that are off, shape (m, nv).
            beta: β likewise, shape (m,).

        Raises:
            ModelError: if the robot has a mass matrix that is singular in every position and nothing stands in for it.
        """
        del theta, beta
        robot = program.robot
        if robot.tree is None:
            # Divided by, rounding in the place of a zero pivot would give numbers.
            require_regular(robot)
        start = half_moved_by(robot, ca.SX.zeros(robot.coordinates.nv))
        return HalvedMotion(robot.constrained_factor, Half(sound(robot.factor, start.free), start.reactions))


def judged(matrix: ca.SX, right: ca.SX, values: ca.SX, pivots: ca.SX, share: float = MISSED) -> Multipliers:
    """Multipliers with a verdict on every row, recomputed from K λ = r.

    Args:
        matrix: K, shape (m, m).
        right: r, shape (m,).
        values: λ, shape (m,).
        pivots: D, shape (m,).
        share: of |r_i| and √K_ii √(λᵀKλ) that a row may miss.
    """
    reached = matrix @ values
    # |K λ|_i ≤ √K_ii √(λᵀKλ); |K| |λ| would grow with what λ has in the null space of K.
    size = ca.fabs(right) + ca.sqrt(ca.fabs(ca.diag(matrix) * (values.T @ reached)))
    return Multipliers(values, pivots, *verdicts(right - reached, size, share))


def verdicts(missed: ca.SX, size: ca.SX, share: float = MISSED) -> tuple[ca.SX, ca.SX]:
    """``holds`` and ``misses`` of :class:`Multipliers`.

    Args:
        missed: right side less left side of each row, shape (m,).
        size: what each row is made of, shape (m,).
        share: of it that a row may miss.
    """
    holds: list[ca.SX] = []
    misses: list[ca.SX] = []
    for i in range(missed.numel()):
        far = ca.fabs(missed[i]) > share * size[i] + ROUNDING
        near = ca.fabs(missed[i]) <= share * size[i] + ROUNDING
        # Of a number that is none neither holds.
        holds.append(ca.if_else(far, 0, ca.if_else(near, 1, float("nan"))))
        misses.append(ca.if_else(near, 0, missed[i]))
    empty = ca.SX(0, 1)
    return ca.vertcat(empty, *holds), ca.vertcat(empty, *misses)
