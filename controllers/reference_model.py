"""The reference model: the motion that a program alone makes of a robot, as if any force could be had."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import vector
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .multipliers import chosen_method
from .program import Program
from .program_verdict import ERRORS, ProgramVerdict
from .realization import Ideal
from .status import Status

Array = NDArray[np.float64]

TOLERANCE = 1e-10
"""A row counts as dependent when its relative pivot is not above this, as for a ProgramController."""


class ReferenceModel:
    """M a + h = Aᵀμ + Θᵀλ with A a = b and Θ a = β, integrated along: natural and program constraints, no inputs.

    It plans: whatever the program's order, positions, speeds, curvatures, its solution q_p(t) is the motion that a
    control model is to track [Jarzebowska2007]_, [Deressa2014]_. One step is one of the classical Runge–Kutta method.

    Attributes:
        program: natural constraints come from its robot.
        start: q and v at the beginning, each read-only.
        acceleration: a under the program's ideal force, shape (nv,), in the symbols of the program.
    """

    def __init__(self, program: Program, q0: ArrayLike, v0: ArrayLike) -> None:
        """Build the model.

        Args:
            program: what the motion must satisfy.
            q0: coordinates at the beginning, shape (nq,).
            v0: velocities at the beginning, shape (nv,); :func:`~erugin.controllers.start_on` finds a start on the
                program.

        Raises:
            ModelError: for rows nonlinear in the accelerations, or a program that no force can realise.
            ShapeError: for a start of the wrong shape.
        """
        if not isinstance(program, Program):
            raise ModelError(f"a reference model moves as a Program asks, got {type(program).__name__}")
        if not program.is_affine:
            raise ModelError(
                "a reference model needs rows that are affine in the accelerations: simulate a program with others "
                "beforehand, and follow a spline through that motion"
            )
        self.program, c = program, program.robot.coordinates
        self.start = vector("q0", q0, c.nq), vector("v0", v0, c.nv)
        for array in self.start:
            array.setflags(write=False)
        # The robot's own mobility would not do where only the program's rows hold what has no inertia.
        method = chosen_method(program)
        realized = Ideal().build(program, method)
        self._verdict = ProgramVerdict(program, method, TOLERANCE)
        self.acceleration = realized.acceleration
        rate = ca.densify(ca.vertcat(c.N @ c.v, realized.acceleration))
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": program.parameters.symbols}
        outputs = {"rate": rate, "pivots": realized.relative_pivots, "misses": realized.misses}
        self._rate = Kernel("reference_rate", symbols, outputs)

    def rate(self, t: float, x: Array, p: Array) -> Array:
        """ẋ of x = (q, v).

        Args:
            t: time [s].
            x: state, shape (nq + nv,).
            p: the program's parameters, shape (n,).

        Raises:
            SingularProgramError: if rows depend on each other there; ContradictoryProgramError if they contradict each
                other in a program that makes good a singular mass matrix.
            NotFiniteError: if the rate is not finite.
        """
        rate, pivots, misses = map(np.atleast_1d, self._rate(t, x, p))
        status = self._verdict.status(bool(np.isfinite(rate).all()), pivots, "")
        if status is not Status.OK:
            message = self._verdict.message(status, pivots, "", misses)
            raise ERRORS[status](f"reference model at t = {t:g}: {message}")
        return rate

    def after(self, t: float, x: Array, span: float, p: Array) -> Array:
        """The state a time later, in one step.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
            span: length of the step [s].
            p: the program's parameters, shape (n,).

        Raises:
            SingularProgramError, ContradictoryProgramError, NotFiniteError: as :meth:`rate`.
        """
        first = self.rate(t, x, p)
        second = self.rate(t + span / 2, x + span / 2 * first, p)
        third = self.rate(t + span / 2, x + span / 2 * second, p)
        last = self.rate(t + span, x + span * third, p)
        return np.asarray(x + span / 6 * (first + 2 * second + 2 * third + last))
