"""A pendulum as a point on a rod, driven so that its angle obeys a linear equation: known in closed form."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, distance, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, lagrangian_system

Array = NDArray[np.float64]
ANGLE, SPEED = 0.8, 0.5
"""At the start [rad, rad/s]; zero hangs down."""
ALPHA, BETA = 1.0, 3.0
"""Of the deviation y = θ − R sin Ω t of the driven angle, which obeys ÿ + 2α ẏ + β² y = 0 [1/s]."""
SWING, RATE = 0.3, 2.0
"""R and Ω [rad, rad/s]."""
GRAVITY = 9.81


def rod_pendulum() -> Robot:
    """A unit mass on a rod of unit length in Cartesian coordinates, with a torque about the pivot."""
    x, v, u = ca.SX.sym("x", 2), ca.SX.sym("v", 2), ca.SX.sym("u")
    return lagrangian_system(
        q=x,
        v=v,
        T=ca.sumsqr(v) / 2,
        V=GRAVITY * x[1],
        u=u,
        Q=u * ca.vertcat(-x[1], x[0]),
        natural=[distance(x, [0.0, 0.0], ca.SX(1.0), name="rod")],
        name="pendulum on a rod",
    )


def driven(robot: Robot) -> ProgramController:
    """The torque that makes the angle obey the equation."""
    angle = ca.atan2(robot.q[0], -robot.q[1])
    path = SWING * ca.sin(RATE * robot.t)
    program = Program(robot, holonomic(angle - path, perturbation=Baumgarte(ALPHA, BETA), name="angle"))
    return ProgramController(program, realization="actuated")


def state(angle: Array | float, speed: Array | float) -> Array:
    """(q, v) at an angle and its rate, shape (…, 4)."""
    s, c = np.sin(angle), np.cos(angle)
    return np.stack([s, -c, speed * c, speed * s], axis=-1)


def angle_at(t: Array) -> tuple[Array, Array]:
    """The driven angle and its rate at some times, shape (N,) each."""
    w = np.sqrt(BETA**2 - ALPHA**2)
    cosine, sine = ANGLE, (SPEED - SWING * RATE + ALPHA * ANGLE) / w
    decay, c, s = np.exp(-ALPHA * t), np.cos(w * t), np.sin(w * t)
    deviation = decay * (cosine * c + sine * s)
    angle = deviation + SWING * np.sin(RATE * t)
    return angle, SWING * RATE * np.cos(RATE * t) - ALPHA * deviation + decay * w * (sine * c - cosine * s)


def first_time_below(level: float, high: float) -> float:
    """When the driven angle, which falls until then, comes to a level; ``high`` is a time after it [s]."""
    low, there = 0.0, _below(level)
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (low, middle) if there(middle) else (middle, high)
    return high


def _below(level: float) -> Callable[[float], bool]:
    return lambda t: bool(angle_at(np.array([t]))[0][0] < level)
