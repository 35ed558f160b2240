"""Forward dynamics: accelerations under forces, and under the multipliers of rows, natural constraints obeyed."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from ...robots.constrained_factor import ConstrainedFactor, HalfSolve, NaturalFactor, natural_factor, symmetric_product
from ...robots.dynamics import Factor
from ...robots.robot import Robot
from ...robots.spatial import mirror_lower_triangle
from ...symbolic.linear_algebra import Ldl
from ...symbolic.pickling import Picklable

SMALLEST = 1e-13
"""A relative pivot of M counts as zero below this; a chain of a hundred links, which is regular, has 2e-9."""

SINGULAR = 1e-10
"""A relative pivot of K up to which multipliers for independent rows are meaningless: the square of an angle of
1e-5."""


@dataclass(frozen=True, eq=False)
class RowDynamics:
    """Effect of the multipliers of some rows.

    Attributes:
        matrix: K = Θ M̂ Θᵀ, shape (m, m), where M̂ is M⁻¹ reduced by the natural constraints.
        whole: Θ M⁻¹ Θᵀ, shape (m, m).
        free: Θ a₀ at the acceleration without control, shape (m,).
        motion: function from λ, shape (m,), to a, shape (nv,), and μ, shape (k,).
        rooted: function that builds H with K = H Hᵀ, shape (m, nv): the rows in the metric M⁻¹, reduced by the natural
            constraints. Angles between rows are accurate to rounding in H, and to its square root in K.
    """

    matrix: ca.SX
    whole: ca.SX
    free: ca.SX
    motion: Callable[[ca.SX], tuple[ca.SX, ca.SX]]
    rooted: Callable[[], ca.SX]


class ForwardDynamics(Picklable, ABC):
    """Motion of a robot under forces, natural constraints included."""

    @property
    @abstractmethod
    def factor(self) -> Factor:
        """The factorized mass matrix."""

    @property
    @abstractmethod
    def unforced_acceleration(self) -> tuple[ca.SX, ca.SX]:
        """a, shape (nv,), and μ, shape (k,), without control forces."""

    @abstractmethod
    def mobility(self, forces: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the change of a and of μ by generalized forces.

        Args:
            forces: generalized forces, shape (nv, columns).
        """

    @abstractmethod
    def rows(self, theta: ca.SX) -> RowDynamics:
        """Return the effect of the multipliers of rows.

        Args:
            theta: Θ, shape (m, nv).
        """


class HalfSolvedDynamics(ForwardDynamics):
    """M̂ in two half solves: K and Θ a₀ need only L⁻¹ Θᵀ and L⁻¹ (−h), and one column is solved for the acceleration.

    With Y = L⁻¹ Θᵀ, natural rows A and W = A M⁻¹ Θᵀ: K = Yᵀ D⁻¹ Y − Wᵀ (A M⁻¹ Aᵀ)⁻¹ W.
    """

    def __init__(self, constrained: ConstrainedFactor, start: HalfSolve) -> None:
        """Store the factors.

        Args:
            constrained: the mass matrix and the natural constraints.
            start: first half of the solve for the acceleration without control.
        """
        self._constrained, self._start = constrained, start

    @property
    def factor(self) -> Factor:
        """The factorized mass matrix."""
        return self._constrained.factor

    @property
    def unforced_acceleration(self) -> tuple[ca.SX, ca.SX]:
        """a and μ without control forces, by the second half of the solve."""
        return self._moved

    @functools.cached_property
    def _moved(self) -> tuple[ca.SX, ca.SX]:
        return self._constrained.motion(self._start)

    def mobility(self, forces: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the change of a and μ, by both halves of the solve for each column."""
        return self._constrained.motion(self._constrained.half_solve(forces))

    def rows(self, theta: ca.SX) -> RowDynamics:
        """Return the effect of multipliers, with the second half of the solve for one column only."""
        constrained, start, factor = self._constrained, self._start, self.factor
        halves = factor.forward(theta.T)
        weighted = factor.weighted(halves)
        whole = symmetric_product(halves, weighted)
        free = weighted.T @ start.free
        matrix, gives = whole, ca.SX(0, theta.size1())
        if constrained.rows.size2():
            shared = constrained.rows.T @ weighted
            gives = constrained.natural.solve(shared)
            matrix = whole - mirror_lower_triangle(shared.T @ gives)
            free = free + shared.T @ start.reactions

        def motion(lam: ca.SX) -> tuple[ca.SX, ca.SX]:
            reactions = start.reactions - gives @ lam
            return constrained.motion(HalfSolve(start.free + halves @ lam, reactions))

        def rooted() -> ca.SX:
            return _project_out_natural_rows(
                factor.rooted(halves), factor.rooted(constrained.rows), constrained.natural
            )

        return RowDynamics(matrix, whole, free, motion, rooted)


class ExplicitDynamics(ForwardDynamics):
    """Motion of a robot with given free acceleration and M⁻¹."""

    def __init__(self, robot: Robot, factor: Factor, free: ca.SX) -> None:
        """Solve for the reactions of the natural constraints.

        Args:
            robot: the model, for its natural constraints.
            factor: the factorized mass matrix, or a replacement.
            free: the acceleration without natural constraints and control, shape (nv,).
        """
        self._factor, (self._A, b) = factor, robot.natural_form
        self._reach = factor.solve(self._A.T)
        self._natural = natural_factor(self._A @ self._reach, robot.natural_sizes, robot.redundant)
        self._unforced = self._held(free, b)

    @property
    def factor(self) -> Factor:
        """The factorized mass matrix."""
        return self._factor

    @property
    def unforced_acceleration(self) -> tuple[ca.SX, ca.SX]:
        """a and μ without control forces."""
        return self._unforced

    def mobility(self, forces: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the change of a and μ by generalized forces."""
        return self._held(self._factor.solve(forces), ca.SX(self._A.size1(), forces.size2()))

    def rows(self, theta: ca.SX) -> RowDynamics:
        """Return the effect of multipliers, from the accelerations by each."""
        free, reactions = self._unforced
        reach, pull = self.mobility(theta.T)

        def motion(lam: ca.SX) -> tuple[ca.SX, ca.SX]:
            return free + reach @ lam, reactions + pull @ lam

        def rooted() -> ca.SX:
            halves, rows = (self._factor.rooted(self._factor.forward(x.T)) for x in (theta, self._A))
            return _project_out_natural_rows(halves, rows, self._natural)

        return RowDynamics(theta @ reach, theta @ self._factor.solve(theta.T), theta @ free, motion, rooted)

    def _held(self, moved: ca.SX, desired: ca.SX) -> tuple[ca.SX, ca.SX]:
        if self._A.size1() == 0:
            return moved, ca.SX(0, moved.size2())
        mu = self._natural.solve(desired - self._A @ moved)
        return moved + self._reach @ mu, mu


def _project_out_natural_rows(halves: ca.SX, rows: ca.SX, natural: NaturalFactor) -> ca.SX:
    """Return H = (D^(−½) L⁻¹ Θᵀ)ᵀ less its projection on the natural rows, which are given in the same form."""
    # Projected twice, because once leaves rounding errors along the natural rows.
    for _ in range(2 if rows.size2() else 0):
        halves = halves - rows @ natural.solve(rows.T @ halves)
    return halves.T


def half_solved_dynamics(robot: Robot, factor: Factor, free: ca.SX) -> HalfSolvedDynamics:
    """Return the dynamics of a robot with another factorization of its mass matrix, or with another mass matrix.

    Args:
        robot: the model, for its natural constraints.
        factor: the factorized mass matrix.
        free: L⁻¹ F of all forces that act without control, shape (nv,).
    """
    A, b = robot.natural_form
    constrained = ConstrainedFactor.of(factor, A, robot.natural_sizes, robot.redundant)
    return HalfSolvedDynamics(constrained, constrained.solve_constrained(nan_where_singular(factor, free), b))


def nan_where_singular(factor: Factor, values: ca.SX, smallest: float = SMALLEST) -> ca.SX:
    """Return the values, or NaN where a pivot is only rounding and the division by it meaningless.

    Args:
        factor: factorization of the mass matrix; one of a tree of bodies with mass has no such pivot.
        values: results of a division by the pivots, any shape.
        smallest: a relative pivot counts as zero up to this.
    """
    if not isinstance(factor, Ldl) or not factor.diagonal.numel():
        return values
    shares = factor.relative_pivots
    least = shares[0]
    for i in range(1, shares.numel()):
        least = ca.fmin(least, shares[i])
    return values * ca.if_else(least > smallest, 1, float("nan"))
