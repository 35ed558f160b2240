"""Compiled functions of a realised program, each built at its first call."""

from __future__ import annotations

import functools

import casadi as ca

from ...robots.constrained_factor import NaturalFactor, natural_factor
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ..controller import RegularTick
from ..law import Law, is_regular
from ..realization import RealizedMotion
from .program import Program
from .solution import ProgramMatrices

NEARLY_SINGULAR = 1e-4
"""Relative pivot of a natural row, the square of its remainder outside the others, below which it may no longer
determine accelerations: a loop that is open by δ changes them by δ divided by the root."""


class ProgramKernels:
    """Functions of t, q, v, p, of the acceleration about which rows are linearized, and of u when it is bounded."""

    def __init__(self, program: Program, realized: RealizedMotion, law: Law, *, compiled: bool = True) -> None:
        """Store the expressions.

        Args:
            program: the program that is realised.
            realized: the force and the motion under it.
            law: output, pivots and further results of a tick.
            compiled: False for kernels of few calls, which are not worth compiling.
        """
        self._program, self._realized, self._law = program, realized, law
        self._compiled = None if compiled else False
        robot = program.robot
        self._state = {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.parameters.symbols}
        self._symbols = self._state if program.is_affine else {**self._state, "a": robot.coordinates.a}
        if realized.input.numel() and ca.is_equal(realized.input, robot.u):
            self._symbols = {**self._state, "u": robot.u}

    def regular(self, tolerance: float) -> RegularTick:
        """Return the output at states where the rows, natural ones too, are independent.

        Args:
            tolerance: a row is dependent if its relative pivot is not above this.
        """
        law, robot = self._law, self._program.robot
        regular = is_regular(ca.vertcat(robot.t, robot.q, robot.v, law.output), law.relative_pivots, tolerance)
        for counts in self._natural_counts.values():
            determined = ca.logic_and(counts[0] == len(robot.natural_rows), counts[1] == 0)
            regular = ca.logic_and(regular, determined)
        outputs = {"output": law.output, "regular": regular}
        kernel = Kernel("regular_tick", self._state, outputs, compiled=self._compiled)
        return RegularTick(kernel, self._program.parameters)

    @functools.cached_property
    def tick(self) -> Kernel:
        """Output and relative pivots, for a controller."""
        law = self._law
        outputs = {"output": law.output, "pivots": law.relative_pivots, **self._natural_counts}
        return Kernel("program_tick", self._symbols, outputs, compiled=self._compiled)

    @functools.cached_property
    def observed(self) -> Kernel:
        """Output, relative and absolute pivots, and which rows are on, for a record."""
        law = self._law
        outputs = {"output": law.output, "relative": law.relative_pivots, "pivots": law.pivots, "active": law.active}
        return Kernel("program_observed", self._symbols, outputs | self._natural_counts, compiled=self._compiled)

    @functools.cached_property
    def deviation(self) -> Kernel:
        """The deviation, as a function of t, q, v, p and the true accelerations of a plant."""
        symbols = {**self._state, "a": self._program.robot.coordinates.a}
        return Kernel("program_deviation", symbols, {"deviation": self._program.deviation}, compiled=self._compiled)

    @functools.cached_property
    def natural_counts(self) -> Kernel:
        """Outputs of :func:`natural_row_counts`."""
        return Kernel("program_held", self._state, self._natural_counts, compiled=self._compiled)

    @functools.cached_property
    def whole(self) -> Kernel:
        """All unknowns at one state."""
        r = self._realized
        outputs = {
            "multipliers": r.multipliers,
            "force": r.force,
            "input": r.input,
            "acceleration": r.acceleration,
            "reactions": r.reactions,
            "pivots": r.relative_pivots,
            "misses": r.misses,
            "left": r.left,
        }
        return Kernel("program_solution", self._symbols, outputs, compiled=self._compiled)

    @functools.cached_property
    def _natural_counts(self) -> dict[str, ca.SX]:
        return natural_row_counts(self._program.robot)

    @functools.cached_property
    def data(self) -> ProgramMatrices:
        """Matrices that the solution is checked against."""
        return ProgramMatrices(self._program)


def natural_row_counts(robot: Robot) -> dict[str, ca.SX]:
    """Count the natural rows that determine accelerations well, and the others that are used, shape (2,).

    Rows of the second kind nearly depend on others: near a singular position, or where redundant rows disagree because
    q violates them. The result is empty without natural constraints.

    Args:
        robot: the model.
    """
    if not robot.natural:
        return {}
    factor = _natural_factor(robot)
    well = [ca.if_else(pivot > NEARLY_SINGULAR, 1, 0) for pivot in ca.vertsplit(factor.relative_pivots)]
    badly = [
        ca.if_else(kept == 0, 0, 1 - one) for kept, one in zip(ca.vertsplit(factor.independent), well, strict=True)
    ]
    return {"held": ca.vertcat(sum(well, ca.SX(0)), sum(badly, ca.SX(0)))}


def _natural_factor(robot: Robot) -> NaturalFactor:
    """Factorize the natural rows; in the metric of velocities if M is singular without the program."""
    try:
        return robot.natural_factor
    except ModelError:
        A, _ = robot.natural_form
        return natural_factor(A @ A.T, robot.natural_sizes, robot.redundant)
