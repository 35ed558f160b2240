"""Robots for tests of reduced coordinates: points on surfaces and curves, still and moving."""

from __future__ import annotations

import dataclasses
import functools

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Controller, Tick
from erugin.robots import Link, Robot, lagrangian_system
from erugin.robots.examples import slider_crank
from erugin.symbolic import Parameters

from .systems import body

Array = NDArray[np.float64]
G = 9.81
MASS = 1.3
EQUAL = Link(1.0, 1.0, 0.4, 0.11), Link(1.0, 2.0, 0.45, 0.2)
SLIDER = 0.7


def column(prefix: str, names: str) -> ca.SX:
    return ca.vertcat(*(ca.SX.sym(prefix + name) for name in names))


@functools.cache
def pendulum(dimension: int, *, masses: tuple[float, ...] | None = None) -> Robot:
    """A point on a circle or sphere of radius l, the last axis up; a mass for each axis if given."""
    q, v, p = column("", "xyz"[:dimension]), column("v", "xyz"[:dimension]), Parameters.declare({"l": 1.0})
    each = ca.DM(masses or (MASS,) * dimension)
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=ca.dot(each, v**2) / 2,
        V=MASS * G * q[dimension - 1],
        natural=[holonomic(ca.sumsqr(q) / p["l"] ** 2 - 1, name="sphere")],
        name="point on a sphere",
    )


@functools.cache
def bead(*, speed: float = 2.0) -> Robot:
    """A bead on a horizontal rod that turns at a given speed, without forces: r'' = ω² r."""
    q, v, t = column("", "xy"), column("v", "xy"), ca.SX.sym("t")
    rod = ca.cos(speed * t) * q[1] - ca.sin(speed * t) * q[0]
    return lagrangian_system(
        q=q, v=v, t=t, p=Parameters.declare({}), T=ca.sumsqr(v) / 2, natural=[holonomic(rod, name="rod")]
    )


@functools.cache
def constant_speed() -> Robot:
    """A point in a vertical plane whose speed stays 1 m/s: nonholonomic and not linear in the velocities."""
    q, v = column("", "xy"), column("v", "xy")
    return lagrangian_system(
        q=q,
        v=v,
        p=Parameters.declare({}),
        T=ca.sumsqr(v) / 2,
        V=G * q[1],
        natural=[nonholonomic(ca.sumsqr(v) - 1, name="speed")],
    )


@functools.cache
def equal_arms() -> Robot:
    """A slider-crank whose arms are equal: singular where they stand upright."""
    return slider_crank(*EQUAL, SLIDER, offset=0.0)


def equal_arms_rate(torque: float, angle: float, rate: float) -> float:
    """φ'' of that mechanism on the branch x = 2 l cos φ, from its energies by hand."""
    a, b = EQUAL
    high, low = (1.0 + b.center) ** 2, (1.0 - b.center) ** 2
    inertia = a.inertia + a.mass * a.center**2 + b.inertia
    inertia += b.mass * (high * np.sin(angle) ** 2 + low * np.cos(angle) ** 2) + 4.0 * SLIDER * np.sin(angle) ** 2
    slope = (b.mass * (high - low) + 4.0 * SLIDER) * np.sin(2.0 * angle)
    weight = G * np.cos(angle) * (a.mass * a.center + b.mass * (1.0 - b.center))
    return float((torque - slope * rate**2 / 2.0 - weight) / inertia)


class Torque(Controller):
    """Inputs as a function of time only, called from Python."""

    def __init__(self, robot: Robot, offset: float, amplitude: float) -> None:
        self.robot, self.offset, self.amplitude = robot, offset, amplitude

    def at(self, t: float) -> float:
        return self.offset + self.amplitude * float(np.cos(3.0 * t))

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.array([self.at(t)]))


@functools.cache
def turning_body() -> Robot:
    """Three quasi-velocities, four coordinates, and a point of the body on a plane."""
    robot = body().robot
    return dataclasses.replace(robot, natural=(holonomic(robot.points["tip"][0] - 0.35, name="plane"),))
