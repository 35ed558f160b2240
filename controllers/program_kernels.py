"""The compiled functions of a program that is realised, each built when it is first called."""

from __future__ import annotations

import functools

import casadi as ca

from ..symbolic.kernel import Kernel
from .controller import Law
from .program import Program
from .program_data import ProgramMatrices
from .realization import Realized


class ProgramKernels:
    """Functions of t, q, v, p; of the acceleration about which rows are linearized; of u where a programme finds it."""

    def __init__(self, program: Program, realized: Realized, law: Law) -> None:
        """Keep the expressions.

        Args:
            program: what is realised.
            realized: the force and the motion under it.
            law: output, pivots and what else is told of a tick.
        """
        self._program, self._realized, self._law = program, realized, law
        robot = program.robot
        self._state = {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.parameters.symbols}
        self._symbols = self._state if program.is_affine else {**self._state, "a": robot.coordinates.a}
        if realized.input.numel() and ca.is_equal(realized.input, robot.u):
            self._symbols = {**self._state, "u": robot.u}

    @functools.cached_property
    def tick(self) -> Kernel:
        """Output and relative pivots: what a controller needs."""
        law = self._law
        return Kernel("program_tick", self._symbols, {"output": law.output, "pivots": law.relative_pivots})

    @functools.cached_property
    def observed(self) -> Kernel:
        """Output, relative and absolute pivots, and which rows are on: what a record needs."""
        law = self._law
        outputs = {"output": law.output, "relative": law.relative_pivots, "pivots": law.pivots, "active": law.active}
        return Kernel("program_observed", self._symbols, outputs)

    @functools.cached_property
    def deviation(self) -> Kernel:
        """The deviation, as a function of t, q, v, p and the accelerations that a plant really has."""
        symbols = {**self._state, "a": self._program.robot.coordinates.a}
        return Kernel("program_deviation", symbols, {"deviation": self._program.deviation})

    @functools.cached_property
    def whole(self) -> Kernel:
        """Everything that the method finds at one state."""
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
        return Kernel("program_solution", self._symbols, outputs)

    @functools.cached_property
    def data(self) -> ProgramMatrices:
        """What the solution is checked against."""
        return ProgramMatrices(self._program)
