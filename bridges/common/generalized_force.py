"""Generalized force of a controller's output."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]
ForceFunction = Callable[[float, Array, Array, Array], Array]
"""(t, q, v, output) → R, shape (nv,)."""


def generalized_force(robot: Robot, controller: Controller, p: Array) -> ForceFunction:
    """Return the function for the generalized force of a controller's output: B u, or R itself.

    Args:
        robot: the robot with the input matrix B.
        controller: the controller that computes the output u or R.
        p: the robot's parameters, shape (np,).
    """
    if controller.applies_force:
        return lambda t, q, v, output: output
    c, u, B = robot.coordinates, robot.u, robot.input_matrix
    if not ca.depends_on(B, ca.vertcat(c.t, c.q, c.v)):
        columns = np.reshape(robot.evaluate(ca.densify(B), p=p), (c.nv, u.numel()))
        return lambda t, q, v, output: columns @ output
    inputs = {"t": c.t, "q": c.q, "v": c.v, "u": u, "p": robot.p}
    kernel = Kernel("applied", inputs, {"force": B @ u}, compiled=False)
    return lambda t, q, v, output: np.atleast_1d(kernel(t, q, v, output, p)[0])
