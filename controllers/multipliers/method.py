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
    """Something that not every method deals with; the text completes "it deals with …"."""

    NATURAL_ROWS = "natural constraints"
    REDUNDANT_NATURAL_ROWS = "natural rows that depend on each other"
    DEPENDENT_ROWS = "rows that depend on each other"
    VANISHING_ROWS = "rows that vanish"
    MORE_ROWS = "more rows than velocities"
    CONTRADICTIONS = "rows that contradict each other, which it names"
    HELD_INERTIA = "a singular mass matrix that natural constraints make good"
    PROGRAMMED_INERTIA = "a singular mass matrix that only the program makes good"
    SWITCHED_ROWS = "rows that are on at times"
    NONLINEAR_ROWS = "rows nonlinear in the accelerations"
    NO_TREE = "a robot that is no tree of bodies"
    ACTUATED = "forces that come from inputs"


DEPENDENCE = frozenset(
    {Capability.DEPENDENT_ROWS, Capability.VANISHING_ROWS, Capability.MORE_ROWS, Capability.CONTRADICTIONS}
)
"""What a method for independent rows lacks."""

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
"""What a method gets for nothing that uses the robot's own mobility."""


MISSED = 1e-8
"""A row that depends on others contradicts them from this share of what it is made of."""
ACCURATE = 1e-6
"""What is left of a row outside those before it is met to this share of what the row is made of."""
ROUNDING = 1e-8
"""Nor does a row count as missed by what changes of this size make of it, in m/s² or rad/s²: deviations that are
rounding may be of any relative size."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Solution of K λ = r.

    Attributes:
        values: λ, shape (m,).
        pivots: D of K = L D Lᵀ, shape (m,): the square of what is left of each row outside the span of the rows before
            it, in the metric of K; zero where a row depends on them or vanishes, as far as rounding lets it be told.
    """

    values: ca.SX
    pivots: ca.SX


class MultiplierMethod(Picklable, ABC):
    """Way of solving K λ = r, where K = Θ M⁻¹ Θᵀ is symmetric and positive semidefinite."""

    supports_dependent_rows: bool = False
    """Whether rows may depend on each other, vanish, or be more than the velocities; if so, each is judged by what it
    misses, see :func:`verdicts`."""
    iterates: bool = False
    """Whether a row that is missed is one to which an iteration has not converged."""
    tolerance: float = NEAREST
    """A row is passed over if the square of what is left of it, relative to its scale, is not above this."""

    @property
    def supports(self) -> frozenset[Capability]:
        """What it deals with; what is not among it is refused when a controller is built, or has a status."""
        return REGULAR | DEPENDENCE if self.supports_dependent_rows else REGULAR

    @abstractmethod
    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Multipliers as expressions.

        Args:
            matrix: K, shape (m, m).
            right: r, shape (m,).
            scale: the largest K_jj, as it would be without natural constraints, of the rows that share a unit with
                each, shape (m,); its own K_ii if not given.
        """

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """Multipliers as expressions, for rows that may depend on each other.

        Args:
            rows: those of H with K = H Hᵀ, in which an angle between rows is not squared.
            matrix: K, shape (m, m).
            right: r, shape (m,).
            scale: as for :meth:`solve`.
        """
        del rows
        return self.solve(matrix, right, scale)

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
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
            robot.require_regular_mass_matrix()
        start = robot.half_solve(ca.SX.zeros(robot.coordinates.nv))
        return HalfSolvedDynamics(
            robot.constrained_factor, HalfSolve(nan_where_singular(robot.factor, start.free), start.reactions)
        )


def check_rows(
    basis: GramSchmidtRows, missed: ca.SX, size: ca.SX, lengths: ca.SX, scale: ca.SX, unit: ca.SX, first: int = 0
) -> tuple[ca.SX, ca.SX]:
    """Whether rows hold.

    A row that depends on those before it may miss what they say by :data:`MISSED`. Of one that does not, what is left
    outside of them must be met to :data:`ACCURATE`: a row at an angle of 1e-6 to another that is missed by 1e-6 leaves
    the motion open altogether.

    Args:
        basis: all rows, shape (m, n).
        missed: right side less left side of each row, shape (m,).
        size: what each row is made of, shape (m,).
        lengths: of the rows, in the metric of the basis, shape (m,).
        scale: square of the length of the longest row of each row's constraint, shape (m,).
        unit: what a change of one unit of the accelerations makes of each row, shape (m,).
        first: number of the first row that is judged.

    Returns:
        Pivots, shape (m − first,): 1 for a row that holds, 0 for one that contradicts those before it, NaN where a
        number is none; for one that is missed although something is left of it, −1 times the square of what is left, as
        a share of its scale. And what rows that do not hold miss, else 0, in their own unit.
    """
    pivots: list[ca.SX] = []
    misses: list[ca.SX] = []
    rest = basis.remaining(missed)
    for i in range(first, missed.numel()):
        off = ca.fabs(rest[i])
        share = ca.if_else(lengths[i] > 0, basis.left[i] / lengths[i], 0)
        # A row that has vanished has no unit of its own any more.
        floor = ROUNDING * ca.if_else(unit[i] > ROUNDING, unit[i], 1)
        rounded = ca.if_else(lengths[i] > 0, basis.noise[i] / lengths[i], 0)
        told = ca.if_else(basis.kept[i] == 1, 1, basis.left[i] > basis.noise[i])
        met, agrees = share * (ACCURATE * size[i] + floor), (MISSED + rounded) * size[i] + floor
        allowed = ca.if_else(told, met, agrees)
        # A row whose miss follows from that of an earlier one is missed all the same.
        off = ca.fmax(off, ca.if_else(told, share * ca.fabs(missed[i]), 0))
        bad = ca.if_else(told, -(basis.left[i] ** 2) / scale[i], 0)
        # A number that is none is neither above nor below, and must not pass for a row that depends on others.
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
        pivots: square of what is left of each row outside the rows before it, shape (m,); from a method that supports
            dependent rows, the verdict on each, see :func:`~erugin.controllers.multipliers.method.check_rows`.
        relative_pivots: each divided by the square of the longest row of its constraint, shape (m,), in [0, 1]; or the
            same as ``pivots``.
        misses: what rows that do not hold miss, shape (m,); empty from a method for independent rows.
        left: what is left of each row outside those before it, as a share of it, shape (m,); zero where it is passed
            over and −1 where it is off. Empty likewise.
    """

    acceleration: ca.SX
    multipliers: ca.SX
    reactions: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX
    misses: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    left: ca.SX = field(default_factory=lambda: ca.SX(0, 1))


class DirectMethod(MultiplierMethod):
    """Way to the motion under ideal forces that does not go through K = Θ M⁻¹ Θᵀ, and so needs no inverse of M.

    There is no mobility M̂ that another realisation could take from it: it serves ``realization="ideal"`` alone.
    """

    @abstractmethod
    def motion(self, program: Program, theta: ca.SX, beta: ca.SX) -> DirectMotion:
        """The motion as expressions.

        Args:
            program: what is solved.
            theta: Θ with zeros in the rows that are off, shape (m, nv).
            beta: β likewise, shape (m,).

        Raises:
            ModelError: for a program that the method cannot serve, whatever the state.
        """

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Refused: there is no K.

        Raises:
            ModelError: always.
        """
        del matrix, right, scale
        self._refuse()

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Refused: there is no mobility.

        Raises:
            ModelError: always; names the methods that have one.
        """
        del program, theta, beta
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"{type(self).__name__} finds the motion under ideal forces and serves realization='ideal' only; where "
            f"forces come from inputs take {OTHERS}"
        )
