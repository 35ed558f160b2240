"""Robots, smooth motions along them, and one robot by short names.

A motion has dq/dt = N(q) v, written by hand, and dv/dt = a.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import EruginField, FirstOrder, follow, holonomic, line
from erugin.controllers import Program
from erugin.robots import Dynamics, Link, Robot, lagrangian_system, planar_manipulator
from erugin.symbolic import Coordinates, Parameters

from .arms import two_link_arm

Array = NDArray[np.float64]

MOTIONS = 12
# Central differences of eighth order on the points -4 … 4.
FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
SECOND = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
STENCIL = range(-4, 5)


@dataclass(frozen=True, eq=False)
class System:
    """A robot, its kinematics by hand, and places to start from."""

    label: str
    robot: Robot
    q_rate: Callable[[Array, Array], Array]
    """dq/dt = N(q) v, written independently of the robot."""
    starts: Callable[[np.random.Generator, int], Array]


def arm(n: int, *, absolute: bool) -> System:
    """A manipulator; every third motion starts with the arm nearly or exactly stretched."""
    robot = planar_manipulator(
        [Link(0.5 - 0.1 * i, 2.0 - 0.5 * i, 0.2, 0.03) for i in range(n)], angles="absolute" if absolute else "relative"
    )

    def start(rng: np.random.Generator, i: int) -> Array:
        q = rng.uniform(-np.pi, np.pi, n)
        if i % 3 == 0:
            bend = (0.0, 1e-9, 1e-4)[i // 3 % 3]
            q[1:] = q[0] + bend if absolute else bend
        return q

    return System(f"{n}-{'absolute' if absolute else 'relative'}", robot, lambda _, v: v, start)


def unicycle() -> System:
    """Three coordinates, two quasi-velocities: ẋ = s cos θ, ẏ = s sin θ, θ̇ = ω."""
    q = ca.vertcat(*(ca.SX.sym(name) for name in ("x", "y", "theta")))
    v = ca.vertcat(ca.SX.sym("s"), ca.SX.sym("omega"))
    N = ca.vertcat(ca.horzcat(ca.cos(q[2]), 0), ca.horzcat(ca.sin(q[2]), 0), ca.horzcat(0, 1))
    tip = ca.vertcat(q[0] + 0.3 * ca.cos(q[2]), q[1] + 0.3 * ca.sin(q[2]))

    def rate(x: Array, w: Array) -> Array:
        return np.array([w[0] * np.cos(x[2]), w[0] * np.sin(x[2]), w[1]])

    def start(rng: np.random.Generator, _: int) -> Array:
        return np.append(rng.uniform(-0.7, 0.7, 2), rng.uniform(-np.pi, np.pi))

    return System("unicycle", quasi_robot("unicycle", q, v, N, tip), rate, start)


def body() -> System:
    """A body that turns about a point: four coordinates of a quaternion, three angular velocities."""
    q, v = ca.SX.sym("e", 4), ca.SX.sym("w", 3)
    e0, e = q[0], q[1:]
    N = ca.vertcat(-e.T, e0 * ca.SX.eye(3) + ca.skew(e)) / 2
    arm_ = ca.DM([0.6, 0.3, -0.4])
    turned = arm_ + 2 * ca.cross(e, ca.cross(e, arm_) + e0 * arm_)

    def rate(x: Array, w: Array) -> Array:
        return np.append(-(x[1:] @ w), x[0] * w + np.cross(x[1:], w)) / 2

    def start(rng: np.random.Generator, _: int) -> Array:
        x = rng.normal(size=4)
        return x / np.linalg.norm(x)

    return System("body", quasi_robot("body", q, v, N, turned[:2]), rate, start)


def quasi_robot(name: str, q: ca.SX, v: ca.SX, N: ca.SX, tip: ca.SX) -> Robot:
    """A robot in quasi-velocities with one parameter and unit inertia."""
    nq, nv = q.numel(), v.numel()
    p = Parameters.declare({"m": 2.0})
    names = tuple(q[i].name() for i in range(nq))
    return Robot(
        name=name,
        coordinates=Coordinates(ca.SX.sym("t"), q, v, ca.SX.sym("a", nv), N, names, ("",) * nq),
        parameters=p,
        u=ca.SX.sym("u", 1),
        dynamics=Dynamics.given(
            mass_matrix=ca.densify(p["m"] * ca.SX.eye(nv)),
            bias=ca.SX.zeros(nv),
            kinetic_energy=p["m"] * ca.sumsqr(v) / 2,
            potential_energy=ca.SX(0),
        ),
        input_matrix=ca.SX.ones(nv),
        points={"tip": tip},
        input_names=("u",),
        input_units=("N",),
    )


SYSTEMS = (
    arm(2, absolute=False),
    arm(2, absolute=True),
    arm(3, absolute=False),
    arm(3, absolute=True),
    unicycle(),
    body(),
)


@dataclass(frozen=True, eq=False)
class Motion:
    """Nine samples of a smooth motion: times and, by row, q, v and a."""

    step: float
    t: Array
    q: Array
    v: Array
    a: Array


@functools.cache
def motions(system: System, step: float) -> tuple[Motion, ...]:
    """v(s) = v₀ + a₀ s + b s²/2, and q by Runge-Kutta steps of h/20, whose error is far below rounding."""
    rng = np.random.default_rng(11)
    made: list[Motion] = []
    for i in range(MOTIONS):
        start = system.starts(rng, i)
        t = float(rng.uniform(-1.0, 2.0))
        v0, a0, b = rng.uniform(-1.5, 1.5, (3, system.robot.coordinates.nv))

        def velocity(s: float, v0: Array = v0, a0: Array = a0, b: Array = b) -> Array:
            return v0 + a0 * s + b * s**2 / 2

        places = {0: start}
        for sign in (1, -1):
            q = start
            for k in range(4):
                q = travel(system.q_rate, velocity, sign * k * step, q, sign * step)
                places[sign * (k + 1)] = q
        s = step * np.array(STENCIL)
        made.append(
            Motion(
                step,
                t + s,
                np.array([places[k] for k in STENCIL]),
                np.array([velocity(x) for x in s]),
                a0 + b * s[:, None],
            )
        )
    return tuple(made)


def travel(
    rate: Callable[[Array, Array], Array], velocity: Callable[[float], Array], s: float, q: Array, step: float
) -> Array:
    """q after a step, in 20 Runge-Kutta steps."""
    h = step / 20
    for i in range(20):
        at = s + i * h
        k1 = rate(q, velocity(at))
        k2 = rate(q + h / 2 * k1, velocity(at + h / 2))
        k3 = rate(q + h / 2 * k2, velocity(at + h / 2))
        k4 = rate(q + h * k3, velocity(at + h))
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q


BY_SYSTEM = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.label)

ROBOT = SYSTEMS[0].robot
TIP = ROBOT.points["tip"]
ELBOW = ROBOT.points["joint2"]
A = ROBOT.coordinates.a


def cart_with_pendulum() -> Robot:
    """A cart with a pendulum in Cartesian coordinates, the rod a natural constraint; forces on cart and bob."""
    q = ca.vertcat(*(ca.SX.sym(s) for s in ("s", "x", "y")))
    v = ca.vertcat(*(ca.SX.sym(s) for s in ("vs", "vx", "vy")))
    u = ca.vertcat(ca.SX.sym("F"), ca.SX.sym("W"))
    p = Parameters.declare({"M": 2.0, "m": 0.7, "l": 0.5, "g": 9.81})
    rod = (q[1] - q[0]) ** 2 + q[2] ** 2 - p["l"] ** 2
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=(p["M"] * v[0] ** 2 + p["m"] * (v[1] ** 2 + v[2] ** 2)) / 2,
        V=p["m"] * p["g"] * q[2],
        D=0.3 * v[0] ** 2 / 2,
        Q=ca.vertcat(u[0], u[1], 0),
        u=u,
        natural=[holonomic(rod, name="rod")],
    )


T = 0.3


def moving_base() -> Program:
    """A pendulum of variable length on a base that is driven: T has terms linear in v and depends on time."""
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    base = ca.vertcat(0.3 * ca.sin(3 * t), 0.2 * t**2)
    place = base + q[1] * ca.vertcat(ca.sin(q[0]), -ca.cos(q[0]))
    speed = ca.jtimes(place, q, v) + ca.jacobian(place, t)
    T, V = 1.3 * ca.sumsqr(speed) / 2 + 0.2 * v[0] ** 2 / 2, 1.3 * 9.81 * place[1]
    robot = lagrangian_system(q=ca.vertcat(*ca.vertsplit(q)), v=v, t=t, T=T, V=V, D=0.4 * v[1] ** 2 / 2)
    return Program(robot, holonomic(robot.q[1] * ca.cos(robot.q[0]) - 0.5 - 0.1 * ca.sin(robot.t), name="depth"))


def outward_program(
    start: Array | tuple[float, float] = (0.5, 0.3), end: Array | tuple[float, float] = (1.5, 0.5)
) -> Program:
    """The tip is sent along a line that leaves the reach of the arm."""
    robot = two_link_arm()
    field = EruginField(line(tuple(start), tuple(end)), speed=0.2)
    return Program(robot, follow(field, robot.points["tip"], perturbation=FirstOrder(10.0)))
