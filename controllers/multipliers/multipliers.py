"""The abstract method that finds multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from ...robots.dynamics import Factor
from ..program import Program

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


@dataclass(frozen=True, eq=False)
class Movable:
    """What forces are turned into accelerations by.

    Attributes:
        factor: the factorized mass matrix.
        drift: a, shape (nv,), and μ, shape (k,), under no force at all.
        mobility: what generalized forces, shape (nv, columns), add to a and to μ.
    """

    factor: Factor
    drift: tuple[ca.SX, ca.SX]
    mobility: Callable[[ca.SX], tuple[ca.SX, ca.SX]]


class MultiplierMethod(ABC):
    """Way of solving K λ = r, where K = Θ M⁻¹ Θᵀ is symmetric and positive semidefinite."""

    handles_dependence: bool = False
    """Whether rows may depend on each other, vanish, or be more than the velocities; if so, ``holds`` judges them."""

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
        """
        del theta, beta
        robot = program.robot
        return Movable(robot.factor, robot.drift, robot.mobility)


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
    missed = right - reached
    # |K λ|_i ≤ √K_ii √(λᵀKλ); |K| |λ| would grow with what λ has in the null space of K.
    size = ca.fabs(right) + ca.sqrt(ca.fabs(ca.diag(matrix) * (values.T @ reached)))
    holds: list[ca.SX] = []
    misses: list[ca.SX] = []
    for i in range(right.numel()):
        far = ca.fabs(missed[i]) > share * size[i] + ROUNDING
        near = ca.fabs(missed[i]) <= share * size[i] + ROUNDING
        # Of a number that is none neither holds.
        holds.append(ca.if_else(far, 0, ca.if_else(near, 1, float("nan"))))
        misses.append(ca.if_else(near, 0, missed[i]))
    empty = ca.SX(0, 1)
    return Multipliers(values, pivots, ca.vertcat(empty, *holds), ca.vertcat(empty, *misses))
