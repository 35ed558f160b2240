"""References from programs: the motion that a program prescribes, in all coordinates."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import positive, require_memory, vector
from ..reference import Reference
from .program import Program
from .program_controller import ProgramController

Array = NDArray[np.float64]

DENSITY = 400
"""Samples per second of the motion that is fitted."""


def reference_of(
    program: Program,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    tolerance: float = 1e-6,
    accuracy: float = 1e-10,
    pieces: int = 256,
) -> Reference:
    """Return the motion of the robot under the program's ideal force as a reference.

    It is integrated by DOP853 and fitted by quintic pieces; after the duration it rests at its end. Coordinates that
    the program leaves free move as under the ideal force.

    Args:
        program: the program that prescribes the motion.
        q0: coordinates at t = 0, shape (nq,); consistent with the program if the motion is to satisfy it.
        v0: velocities at t = 0, shape (nv,).
        duration: length of the motion [s].
        p: parameters of the program: nominal, overridden by name, or the whole vector.
        tolerance: greatest error of the pieces, in the unit of a coordinate.
        accuracy: relative and absolute tolerance of the integration.
        pieces: largest number of pieces; each costs about 2 × 6 × nq operations of every tick.

    Raises:
        ShapeError, ParameterError: for bad input.
        ModelError: for a robot whose velocities are not the rates of its coordinates, pieces that are too rough, or a
            duration whose samples do not fit into memory.
        SingularProgramError, NotFiniteError: if the program cannot be realised along the motion.
        NotConvergedError: if the integration fails, as it does towards a position where rows depend on each other.
    """
    from scipy.integrate import solve_ivp  # a tenth of a second to import

    if not isinstance(program, Program):
        raise ModelError(f"reference_of requires a Program, got {type(program).__name__}")
    robot, span, allowed = program.robot, positive("duration", duration), positive("accuracy", accuracy)
    c, controller, numbers = robot.coordinates, ProgramController(program), program.parameters.values(p)
    start = np.concatenate([vector("q0", q0, c.nq), vector("v0", v0, c.nv)])
    force = ca.SX.sym("R", c.nv)
    symbols = {"t": c.t, "q": c.q, "v": c.v, "R": force, "p": program.parameters.symbols}
    rate = ca.vertcat(c.N @ c.v, robot.unforced_acceleration[0] + robot.mobility(force)[0])
    kernel = Kernel("ideal_motion", symbols, {"rate": rate})

    def derivative(t: float, x: Array) -> Array:
        q, v = x[: c.nq], x[c.nq :]
        return kernel(t, q, v, controller.control(t, q, v, numbers), numbers)[0]

    samples = max(48.0, DENSITY * span) + 1.0
    # Besides the result, SciPy stores the state at each sample in a separate array.
    size = samples * (3 * len(start) + 20)
    with require_memory(size, f"{samples:,.0f} samples of the motion, {DENSITY} per second", "take a shorter duration"):
        times = np.linspace(0.0, span, round(samples))
        found = solve_ivp(derivative, (0.0, span), start, "DOP853", times, rtol=allowed, atol=allowed)
    if not found.success:
        reached = float(found.t[-1]) if len(found.t) else 0.0
        raise NotConvergedError(
            f"the program's motion cannot be integrated beyond t = {reached:g} s of {span:g} s: {found.message} It may "
            "lead to a position where its rows depend on each other: use a shorter duration or another path"
        )
    return Reference.sampled(robot, times, found.y[: c.nq].T, tolerance=tolerance, pieces=pieces)
