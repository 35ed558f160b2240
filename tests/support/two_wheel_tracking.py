"""Planned motions of two-wheel robots, and closed loops as functions of the state, that several tests share."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import Constraint, nonholonomic
from erugin.controllers import Controller
from erugin.controllers.baselines import PlanarMotion
from erugin.robots import Robot
from erugin.symbolic import Kernel

from .two_wheel import ROBOTS, build

Array = NDArray[np.float64]

HEAVY = ROBOTS["offset behind, heavy wheels"]
FULL, REDUCED = build(HEAVY), build(HEAVY, "reduced")


def axle_speeds(robot: Robot) -> tuple[ca.SX, ca.SX]:
    """v along the heading and ω, in either form."""
    if robot.v.numel() == 2:
        return robot.v[0], robot.v[1]
    return ca.cos(robot.q[2]) * robot.v[0] + ca.sin(robot.q[2]) * robot.v[1], robot.v[2]


def bend(robot: Robot, kappa: ca.SX | float) -> Constraint:
    """ω = κ v: the curvature of the axle's path, which rolling makes a matter of velocities."""
    v, omega = axle_speeds(robot)
    return nonholonomic(omega - kappa * v, name="bend")


def circular(robot: Robot, speed: float = 0.6, radius: float = 1.5) -> PlanarMotion:
    """Round a circle to the left, from the origin along x."""
    angle = speed / radius * robot.t
    return PlanarMotion(robot, radius * ca.vertcat(ca.sin(angle), 1 - ca.cos(angle)))


def straight(robot: Robot, speed: float = 0.6, angle: float = 0.4) -> PlanarMotion:
    """Along a line through the origin."""
    return PlanarMotion(robot, speed * robot.t * ca.SX(ca.DM([np.cos(angle), np.sin(angle)])))


def eight(robot: Robot, size: float = 1.5, rate: float = 0.4) -> PlanarMotion:
    """A figure of eight by Gerono, (a sin ωt, a sin ωt cos ωt); |ṙ|² = a²ω² (cos² ωt + cos² 2ωt), nowhere zero."""
    s = ca.sin(rate * robot.t)
    return PlanarMotion(robot, size * ca.vertcat(s, s * ca.cos(rate * robot.t)))


def state_rate(controller: Controller) -> Callable[[float, Array], Array]:
    """ẋ of x = (q, v) under a law, with the robot's own accelerations."""
    robot = controller.robot
    c, nq = robot.coordinates, robot.coordinates.nq
    symbols = {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}
    plant = Kernel("two_wheel_rate", symbols, {"x": ca.vertcat(c.N @ c.v, robot.acceleration)}, compiled=False)
    p = robot.parameters.values()

    def rate(t: float, x: Array) -> Array:
        return plant(t, x[:nq], x[nq:], controller.control(t, x[:nq], x[nq:]), p)[0]

    return rate


def slope(f: Callable[[Array], Array], x: Array, step: float = 1e-5) -> Array:
    """Jacobian by central differences of the fourth order."""
    columns = [
        (8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / (12 * step)
        for d in step * np.eye(x.size, dtype=np.float64)
    ]
    return np.asarray(np.column_stack(columns))
