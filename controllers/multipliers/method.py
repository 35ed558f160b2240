"""The abstract methods for multipliers, and their capabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn

import casadi as ca

from ...robots.constrained_factor import HalfSolve
from ...symbolic.errors import ModelError
from ...symbolic.pickling import Picklable
from ..program.program import Program
from .forward_dynamics import ForwardDynamics, HalfSolvedDynamics, nan_where_singular
from .row_orthogonalization import NEAREST, GramSchmidtRows


class Capability(Enum):
    """Capability that not every method has; the text completes "it supports …"."""

    NATURAL_ROWS = "natural constraints"
    REDUNDANT_NATURAL_ROWS = "natural rows that depend on each other"
    DEPENDENT_ROWS = "rows that depend on each other"
    VANISHING_ROWS = "rows that vanish"
    MORE_ROWS = "more rows than velocities"
    CONTRADICTIONS = "rows that contradict each other, which it reports"
    HELD_INERTIA = "a singular mass matrix that natural constraints compensate"
    PROGRAMMED_INERTIA = "a singular mass matrix that only the program compensates"
    SWITCHED_ROWS = "rows that are on only at times"
    NONLINEAR_ROWS = "rows nonlinear in the accelerations"
    NO_TREE = "a robot that is not a tree of bodies"
    ACTUATED = "forces that come from inputs"


DEPENDENCE = frozenset(
    {Capability.DEPENDENT_ROWS, Capability.VANISHING_ROWS, Capability.MORE_ROWS, Capability.CONTRADICTIONS}
)
"""Capabilities that a method for independent rows lacks."""

REGULAR = frozenset(
    {
        Capability.NATURAL_ROWS,
        Capability.REDUNDANT_NATURAL_ROWS,
        Capability.HELD_INERTIA,
        Capability.SWITCHED_ROWS,
        Capability.NONLINEAR_ROWS,
        Capability.NO_TREE,
        Capability.ACTUATED,
    }
)
"""Capabilities of every method that uses the robot's mobility."""


MISSED = 1e-8
"""A row that depends on others contradicts them from this share of its terms."""
ACCURATE = 1e-6
"""The remainder of a row outside earlier ones is satisfied up to this share of the row's terms."""
ROUNDING = 1e-8
"""Nor does a row count as missed by the effect of accelerations of this size, in m/s² or rad/s²: deviations that are
rounding may be of any relative size."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Solution of K λ = r.

    Attributes:
        values: λ, shape (m,).
        pivots: D of K = L D Lᵀ, shape (m,): the squared remainder of each row outside the span of earlier rows, in the
            metric of K; zero where a row depends on them or vanishes up to rounding.
    """

    values: ca.SX
    pivots: ca.SX


class MultiplierMethod(Picklable, ABC):
    """Method of solving K λ = r, where K = Θ M⁻¹ Θᵀ is symmetric and positive semidefinite."""

    supports_dependent_rows: bool = False
    """True if rows may depend on each other, vanish, or be more than the velocities; each is then judged by its
    residual, see :func:`check_rows`."""
    iterates: bool = False
    """True if a row may be missed because an iteration has not converged."""
    tolerance: float = NEAREST
    """A row is skipped if its squared remainder, relative to its scale, is not above this."""

    @property
    def supports(self) -> frozenset[Capability]:
        """Supported capabilities; others raise when a controller is built, or have a status."""
        return REGULAR | DEPENDENCE if self.supports_dependent_rows else REGULAR

    @abstractmethod
    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Return the multipliers as expressions.

        Args:
            matrix: K, shape (m, m).
            right: r, shape (m,).
            scale: for each row the largest K_jj, without natural constraints, of the rows that share its unit, shape
                (m,); K_ii if not given.
        """

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """Return the multipliers as expressions, for rows that may depend on each other.

        Args:
            rows: rows of H with K = H Hᵀ, in which angles between rows are not squared.
            matrix: K, shape (m, m).
            right: r, shape (m,).
            scale: scale of each row as for :meth:`solve`.
        """
        del rows
        return self.solve(matrix, right, scale)

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Return the forward dynamics of the program's model: those of the robot, unless a method replaces them.

        Args:
            program: the program to solve.
            theta: Θ with zeros in the rows that are off, shape (m, nv).
            beta: β with zeros in the rows that are off, shape (m,).

        Raises:
            ModelError: if the robot has a mass matrix that is singular in every position and nothing compensates it.
        """
        del theta, beta
        robot = program.robot
        if robot.tree is None:
            # Rounding in place of a zero pivot would otherwise lead to meaningless numbers.
            robot.require_regular_mass_matrix()
        start = robot.half_solve(ca.SX.zeros(robot.coordinates.nv))
        return HalfSolvedDynamics(
            robot.constrained_factor, HalfSolve(nan_where_singular(robot.factor, start.free), start.reactions)
        )


class FactorizationMethod(MultiplierMethod):
    """Method that factorizes the mass matrix in its own way and leaves K λ = r to another method.

    Attributes:
        method: method that then solves K λ = r.
    """

    def __init__(self, method: MultiplierMethod) -> None:
        """Fix the method for K.

        Args:
            method: method that only solves K λ = r.

        Raises:
            ModelError: for a method that replaces M.
        """
        plain = isinstance(method, MultiplierMethod) and method.supports in (REGULAR, REGULAR | DEPENDENCE)
        if not plain or type(method).forward_dynamics is not MultiplierMethod.forward_dynamics:
            raise ModelError(
                f"{type(self).__name__} requires a method that only solves K λ = r, such as LdlMultipliers(), "
                f"LeastNormMultipliers() or ProximalMultipliers(); got {method!r}"
            )
        self.method = method
        self.supports_dependent_rows, self.iterates = method.supports_dependent_rows, method.iterates
        self.tolerance = method.tolerance

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Solve by ``method``."""
        return self.method.solve(matrix, right, scale)

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """Solve by ``method``."""
        return self.method.solve_rows(rows, matrix, right, scale)

    @abstractmethod
    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Return the dynamics with this factorization."""


def check_rows(
    basis: GramSchmidtRows, missed: ca.SX, size: ca.SX, lengths: ca.SX, scale: ca.SX, unit: ca.SX, first: int = 0
) -> tuple[ca.SX, ca.SX]:
    """Check if rows hold.

    A row that depends on earlier ones must agree with them to :data:`MISSED`. The remainder of any other row outside
    earlier ones must be satisfied to :data:`ACCURATE`: a row at an angle of 1e-6 to another that is missed by 1e-6
    leaves the motion undetermined.

    Args:
        basis: orthogonalization of all rows, shape (m, n).
        missed: right side less left side of each row, shape (m,).
        size: sum of the absolute terms of each row, shape (m,).
        lengths: lengths of the rows, in the metric of the basis, shape (m,).
        scale: square of the length of the longest row of each row's constraint, shape (m,).
        unit: change of each row per unit of the accelerations, shape (m,).
        first: index of the first row that is checked, from 0.

    Returns:
        Pivots, shape (m − first,): 1 for a row that holds, 0 for one that contradicts earlier ones, NaN where a number
        is NaN; for one that is missed although it has a remainder, minus the squared remainder as a share of its scale.
        And the residuals of rows that do not hold, else 0, in the unit of the row.
    """
    pivots: list[ca.SX] = []
    misses: list[ca.SX] = []
    rest = basis.remaining(missed)
    for i in range(first, missed.numel()):
        off = ca.fabs(rest[i])
        share = ca.if_else(lengths[i] > 0, basis.left[i] / lengths[i], 0)
        # A row that has vanished has no unit.
        floor = ROUNDING * ca.if_else(unit[i] > ROUNDING, unit[i], 1)
        rounded = ca.if_else(lengths[i] > 0, basis.noise[i] / lengths[i], 0)
        independent = ca.if_else(basis.kept[i] == 1, 1, basis.left[i] > basis.noise[i])
        met, agrees = share * (ACCURATE * size[i] + floor), (MISSED + rounded) * size[i] + floor
        allowed = ca.if_else(independent, met, agrees)
        # A row whose residual follows from that of an earlier one still counts as missed.
        off = ca.fmax(off, ca.if_else(independent, share * ca.fabs(missed[i]), 0))
        bad = ca.if_else(independent, -(basis.left[i] ** 2) / scale[i], 0)
        # NaN is neither above nor below, and must not count as a row that depends on others.
        judged = ca.if_else(off <= allowed, 1, ca.if_else(off > allowed, bad, float("nan")))
        pivots.append(judged + 0 * basis.kept[i])
        misses.append(ca.if_else(off <= allowed, 0, missed[i]))
    empty = ca.SX(0, 1)
    return ca.vertcat(empty, *pivots), ca.vertcat(empty, *misses)


OTHERS = "LdlMultipliers, SweepMultipliers, CanonicalMultipliers, LeastNormMultipliers, ProximalMultipliers or "
OTHERS += "AugmentedMultipliers"


@dataclass(frozen=True, eq=False)
class DirectMotion:
    """The motion under the ideal force of a program.

    Attributes:
        acceleration: a, shape (nv,).
        multipliers: λ, shape (m,).
        reactions: μ, shape (k,).
        pivots: squared remainder of each row outside earlier rows, shape (m,); from a method that supports dependent
            rows, the result of :func:`~erugin.controllers.multipliers.method.check_rows`.
        relative_pivots: pivots divided by the square of the longest row of their constraint, shape (m,), in [0, 1]; or
            the same as ``pivots``.
        misses: residuals of rows that do not hold, shape (m,); empty from a method for independent rows.
        left: remainder of each row outside earlier ones, as a share of the row, shape (m,); zero where the row is
            skipped and −1 where it is off; empty from a method for independent rows.
    """

    acceleration: ca.SX
    multipliers: ca.SX
    reactions: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    misses: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    left: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


class DirectMethod(MultiplierMethod):
    """Method for the motion under ideal forces without K = Θ M⁻¹ Θᵀ, and so without the inverse of M.

    It provides no mobility M̂ for other realisations and supports ``realization="ideal"`` only.
    """

    @abstractmethod
    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """Return the motion as expressions.

        Args:
            program: the program to solve.
            theta: Θ with zeros in the rows that are off, shape (m, nv).
            beta: β with zeros in the rows that are off, shape (m,).

        Raises:
            ModelError: for a program that the method does not support in any state.
        """

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Raise ModelError: there is no K.

        Raises:
            ModelError: always.
        """
        del matrix, right, scale
        self._refuse()

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Raise ModelError: there is no mobility.

        Raises:
            ModelError: always; the message names the methods that have a mobility.
        """
        del program, theta, beta
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"{type(self).__name__} supports realization='ideal' only; for forces that come from inputs use {OTHERS}"
        )
