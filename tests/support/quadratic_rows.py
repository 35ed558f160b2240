"""A tip and a mass with |a| given: rows of order 2 with two roots."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import Constraint, holonomic, nonholonomic, second_order
from erugin.controllers import Program, start_on
from erugin.robots import Link, Robot, lagrangian_system, planar_manipulator

Array = NDArray[np.float64]
RADIUS, CENTRE = 0.9, (1.1, 0.2)
MASS = 1.5


def tip_acceleration(robot: Robot) -> ca.SX:
    c = robot.coordinates
    return c.rate(c.rate(robot.points["tip"]))


def point_mass(gravity: float = 0.0, damping: float = 0.0, stiffness: float = 0.0) -> Robot:
    """A mass in the plane with both forces as inputs; x″ = −(k/m) x − (d/m) x′ − g e_y without them."""
    q, v, u = (ca.vertcat(*(ca.SX.sym(f"{s}{i}") for i in range(2))) for s in ("x", "v", "u"))
    return lagrangian_system(
        q=q,
        v=v,
        T=MASS * ca.sumsqr(v) / 2,
        V=MASS * gravity * q[1] + stiffness * ca.sumsqr(q) / 2,
        D=damping * ca.sumsqr(v) / 2,
        Q=u,
        u=u,
    )


def size_of(acceleration: ca.SX, size: ca.SX | float) -> Constraint:
    return second_order(ca.sumsqr(acceleration) - size**2, name="size")


def planned(t: float) -> tuple[float, float]:
    """s′ > 0 and s″ > 0, from which |a| on the circle is made."""
    return 0.05 + 0.05 * t + 0.005 * np.sin(2 * t), 0.05 + 0.01 * np.cos(2 * t)


@functools.cache
def arm_on_a_circle() -> tuple[Program, Array, Array]:
    """Tip on a circle with |a| given, which leaves two roots along it: s″ = ±√(A² − s′⁴/R²)."""
    arm = planar_manipulator([Link(1.2, 2.5, 0.6, 0.08), Link(1.1, 1.8, 0.55, 0.04)])
    rel = arm.points["tip"] - ca.DM(CENTRE)
    circle = holonomic(ca.sumsqr(rel) - RADIUS**2, name="circle")
    speed, rate = 0.05 + 0.05 * arm.t + 0.005 * ca.sin(2 * arm.t), 0.05 + 0.01 * ca.cos(2 * arm.t)
    size = second_order(ca.sumsqr(tip_acceleration(arm)) - rate**2 - speed**4 / RADIUS**2, name="size")
    begin = nonholonomic(tip_speed(arm) - 0.05)
    q0, v0 = start_on(Program(arm, [circle, begin]), [-0.5, 1.2], at=[(rel, [RADIUS, 0.0])])
    return Program(arm, [circle, size]), q0, v0


def tip_speed(arm: Robot) -> ca.SX:
    """Rate of s, along the circle."""
    rel = arm.points["tip"] - ca.DM(CENTRE)
    return ca.dot(arm.coordinates.rate(arm.points["tip"]), ca.vertcat(-rel[1], rel[0])) / RADIUS


def first_guess(arm: Robot, sign: float) -> ca.SX:
    """Accelerations of the joints for a tip whose speed along the circle changes by ±0.06 m/s²."""
    rel = arm.points["tip"] - ca.DM(CENTRE)
    wanted = sign * 0.06 * ca.vertcat(-rel[1], rel[0]) / RADIUS - 0.05**2 / RADIUS**2 * rel
    J = ca.jacobian(arm.points["tip"], arm.q)
    return ca.solve(J, wanted - ca.substitute(tip_acceleration(arm), arm.coordinates.a, ca.SX.zeros(2)))
