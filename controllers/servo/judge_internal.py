"""The internal dynamics of a servo-controller, asked for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError
from .internal_dynamics import InternalDynamics, internal_along, internal_at
from .servo_controller import ServoController


def internal_dynamics(
    controller: ServoController,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    t: float = 0.0,
    duration: float | None = None,
    step: float = 1e-3,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> InternalDynamics:
    """What a program leaves over while all its rows are obeyed, and whether that is stable.

    At rest: the zeros of the linearization, with time standing still at ``t``. Along a motion of the program, which
    starts at the state on the program nearest to the given one: the mean rates at which perturbations grow that leave
    all rows obeyed.

    Args:
        controller: of the program.
        q: coordinates to start from, shape (nq,); those near which the controller was built if not given.
        v: velocities likewise, shape (nv,).
        t: time [s].
        duration: of the motion to look at [s]; at rest if not given.
        step: of its integration [s].
        p: parameters of the controller: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: for no servo-controller, or if there is no rest on the program near the given state.
        NotConvergedError: if no state on the program is found.
        NotFiniteError: if the motion diverges.
    """
    if not isinstance(controller, ServoController):
        raise ModelError(f"internal_dynamics looks at a ServoController, got {type(controller).__name__}")
    motion = controller.motion
    time, q0, v0, numbers = controller.arguments(t, motion.q if q is None else q, motion.v if v is None else v, p)
    own, start = numbers[: len(motion.parameters)], np.concatenate([q0, v0])
    if controller.relative_degree.is_flat:
        return InternalDynamics.none(motion)
    if duration is not None:
        return internal_along(motion, time, motion.on_program(time, start, own), own, duration, step)
    x = motion.rest(time, start, own)
    if x is None:
        raise ModelError(
            f"no state of rest found on the program at t = {time:g} s near the given one: the program moves there, or "
            "its place is out of reach. Give duration= to look along its motion, or another q"
        )
    return internal_at(motion, time, x, own)
