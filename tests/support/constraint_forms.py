"""Constraints of every order, and their acceleration form beside finite differences along motions.

Along a smooth motion, dq/dt = N(q) v and dv/dt = a, the residual y must obey, whatever the motion:
order 0: d²y/dt² = Θ a − β + g(y, dy/dt); order 1: dy/dt = Θ a − β + h(y); order 2: y = Θ a − β.
The left sides are differences of numbers, in which no total derivative of the code occurs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    Constraint,
    EruginField,
    FirstOrder,
    circle,
    holonomic,
    implicit,
    line,
    nonholonomic,
    second_order,
    spline,
)
from erugin.constraints.curves import Curve
from erugin.controllers import Program
from erugin.robots import Robot
from erugin.symbolic import Kernel, Parameters

from .systems import FIRST, SECOND, System, motions

Array = NDArray[np.float64]

TOLERANCE = 1e-9

ALPHA, BETA, RATE = 3.0, 5.0, 4.0
STEP = {0: 1e-2, 1: 1e-3, 2: 1e-3}
FIELD_STEP = 1e-4

K = Parameters.declare({"reach": 0.4, "rate": 1.3}, "task")
P0, P1 = Baumgarte(ALPHA, BETA), FirstOrder(RATE)


def tip_velocity(robot: Robot) -> ca.SX:
    """d(tip)/dt written out: J(q) N v."""
    return ca.jacobian(robot.points["tip"], robot.q) @ robot.coordinates.N @ robot.v


def joint(robot: Robot) -> Constraint:
    return holonomic(robot.q[0] - 0.3 * ca.sin(1.7 * robot.t), perturbation=P0)


def task(robot: Robot) -> Constraint:
    goal = ca.vertcat(0.5 + 0.1 * ca.cos(robot.t), 0.2 * ca.sin(2 * robot.t))
    return holonomic(robot.points["tip"] - goal, perturbation=P0)


def mixed(robot: Robot) -> Constraint:
    x, y = robot.points["tip"][0], robot.points["tip"][1]
    rows = ca.vertcat(robot.q[0] * y + robot.t**2, x**2 - robot.q[-1] * ca.cos(robot.t), ca.sqrt(x**2 + y**2 + 0.1))
    return holonomic(rows, perturbation=P0)


def with_parameters(robot: Robot) -> Constraint:
    return holonomic(
        robot.points["tip"][1] - K["task.reach"] * ca.cos(K["task.rate"] * robot.t), perturbation=P0, parameters=K
    )


def linear(robot: Robot) -> Constraint:
    rows = ca.vertcat(
        ca.cos(robot.q[0]) * robot.v[0] - ca.sin(robot.t) * robot.v[1] + robot.q[1], tip_velocity(robot)[0] - 0.2
    )
    return nonholonomic(rows, perturbation=P1)


def nonlinear(robot: Robot) -> Constraint:
    rows = ca.vertcat(
        robot.kinetic_energy - 1 - 0.2 * ca.sin(robot.t), ca.sqrt(ca.sumsqr(tip_velocity(robot)) + 0.1) - robot.q[0]
    )
    return nonholonomic(rows, perturbation=P1)


def with_parameters_and_velocities(robot: Robot) -> Constraint:
    return nonholonomic(
        robot.v[0] ** 3 - K["task.rate"] * robot.v[1] * robot.t, perturbation=P1, parameters=K, name="cubic"
    )


def affine(robot: Robot) -> Constraint:
    a = robot.coordinates.a
    rows = ca.vertcat(
        (robot.mass_matrix @ a)[0] + robot.bias[0], ca.sin(robot.q[0]) * a[1] + robot.v[0] ** 2 * robot.t - 1
    )
    return second_order(rows)


PATHS: dict[str, Callable[[], Curve]] = {
    "line": lambda: line((-1.0, 0.2), (1.0, 0.5), name="path"),
    "spline": lambda: spline([(-1.0, 0.0), (-0.3, 0.5), (0.3, 0.3), (1.0, 0.6)], name="path"),
    "circle": lambda: circle((0.1, -0.1), 0.6, name="path"),
    "drifting circle": lambda: circle((0.1, -0.1), 0.6, velocity=(0.1, -0.2), name="path"),
    "implicit": lambda: implicit(lambda x, t: x[1] - 0.3 * ca.sin(2 * x[0] + t), 2, length=1.0, name="path"),
}


@functools.cache
def field(path: str, discs: int) -> EruginField:
    """A field with up to three drifting discs."""
    places = [(0.6, 0.4), (-0.5, 0.6), (0.1, -0.7)]
    shapes = [circle(places[j], 0.15, velocity=(0.1 - 0.05 * j, 0.05 * j - 0.1), name=f"disc{j}") for j in range(discs)]
    return EruginField(PATHS[path](), shapes, speed=0.4, margin=0.3 if discs else None, avoidance="detour")


FORMS: dict[str, tuple[int, Callable[[Robot], Constraint]]] = {
    "joint": (0, joint),
    "task": (0, task),
    "mixed": (0, mixed),
    "with parameters": (0, with_parameters),
    "linear": (1, linear),
    "nonlinear": (1, nonlinear),
    "with parameters and velocities": (1, with_parameters_and_velocities),
    "affine": (2, affine),
}


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both sides of the identity along many motions, by row."""

    left: Array
    right: Array
    scale: Array

    @property
    def mismatch(self) -> Array:
        """|left − right| against the size of the terms, one number per motion."""
        return np.asarray(np.abs(self.left - self.right).max(axis=1) / self.scale)


def compare(
    system: System,
    constraint: Constraint,
    *,
    beta: Callable[[Program], ca.SX] = lambda program: program.beta,
    step: float | None = None,
) -> Outcome:
    """Evaluate the identity of the head of this file; ``beta`` may replace the one that the code makes."""
    robot, order = system.robot, constraint.order
    c = robot.coordinates
    program = Program(robot, constraint)
    kernel = Kernel(
        "form",
        {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p},
        {"y": program.deviation, "theta": program.theta, "beta": beta(program)},
        compiled=False,
    )
    numbers = program.parameters.values()
    m, nv = program.deviation.numel(), c.nv
    lefts: list[Array] = []
    rights: list[Array] = []
    scales: list[float] = []
    for motion in motions(system, STEP[order] if step is None else step):
        samples = [kernel(*row, numbers) for row in zip(motion.t, motion.q, motion.v, motion.a, strict=True)]
        y: Array = np.array([np.atleast_1d(sample[0]) for sample in samples])
        theta, b = samples[4][1].reshape(m, nv), np.atleast_1d(samples[4][2])
        rate = FIRST @ y / motion.step
        match order:
            case 0:
                left, wanted = SECOND @ y / motion.step**2, -2 * ALPHA * rate - BETA**2 * y[4]
            case 1:
                left, wanted = rate, -RATE * y[4]
            case _:
                left, wanted = y[4], np.zeros(m)
        force = theta @ motion.a[4]
        lefts.append(left)
        rights.append(force - b + wanted)
        scales.append(max(1.0, *(float(np.abs(part).max()) for part in (left, force, b, wanted))))
    return Outcome(np.array(lefts), np.array(rights), np.array(scales))
