"""Plants that differ from their model, and runs that keep what a controller remembers at every sample."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller
from erugin.robots import Dynamics, Link, Robot, planar_manipulator
from erugin.symbolic import Kernel, Parameters

Array = NDArray[np.float64]


def pendulum(mass: float = 1.5, length: float = 0.8) -> Robot:
    """One rod with a drive: its inertia does not depend on its place."""
    return planar_manipulator([Link(length, mass, length / 2, mass * length**2 / 12)])


def pushed(robot: Robot, force: ca.SX | Array, parameters: Parameters | None = None) -> Robot:
    """The robot with a generalized force on it that its model knows nothing of, shape (nv,)."""
    own = robot.parameters if parameters is None else Parameters.collect([robot.parameters, parameters])
    given = ca.densify(ca.SX(force) if isinstance(force, ca.SX) else ca.SX(ca.DM(force)))
    dynamics = Dynamics.given(robot.mass_matrix, robot.bias - given, robot.kinetic_energy, robot.potential_energy)
    return dataclasses.replace(robot, dynamics=dynamics, parameters=own, tree=None)


class Run(NamedTuple):
    """Samples of a run: times, shape (N,), coordinates, velocities, inputs, and a recorded quantity."""

    t: Array
    q: Array
    v: Array
    u: Array
    recorded: Array


def sampled_run(
    plant: Robot,
    controller: Controller,
    q0: Array,
    v0: Array,
    duration: float,
    step: float,
    record: Callable[[float, Array, Array], Array | float],
    p: Mapping[str, float] | None = None,
) -> Run:
    """Classical Runge–Kutta steps, recording the controller after each sample.

    Args:
        plant: plant to simulate.
        controller: controller of the plant.
        q0: coordinates.
        v0: velocities.
        duration: time of the motion [s].
        step: time between samples [s].
        record: function of t, q and v whose value is recorded.
        p: values of the plant's parameters that are not nominal.
    """
    c, numbers = plant.coordinates, plant.parameters.values(p)
    inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": plant.u, "p": plant.p}
    rate = Kernel("rate", inputs, {"rate": ca.vertcat(c.N @ c.v, plant.acceleration)})
    x, count = np.concatenate([q0, v0]), round(duration / step)
    kept: list[tuple[float, Array, Array, Array | float]] = []

    def derivative(t: float, x: Array) -> Array:
        return rate(t, x, controller.control(t, x[: c.nq], x[c.nq :]), numbers)[0]

    controller.reset()
    for i in range(count + 1):
        t = i * step
        q, v = x[: c.nq].copy(), x[c.nq :].copy()
        controller.advance(t, q, v)
        kept.append((t, x.copy(), controller.control(t, q, v), record(t, q, v)))
        k1 = derivative(t, x)
        k2 = derivative(t + step / 2, x + step / 2 * k1)
        k3 = derivative(t + step / 2, x + step / 2 * k2)
        k4 = derivative(t + step, x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    states = np.array([row[1] for row in kept])
    return Run(
        np.array([row[0] for row in kept]),
        states[:, : c.nq],
        states[:, c.nq :],
        np.array([row[2] for row in kept]),
        np.array([row[3] for row in kept]),
    )
