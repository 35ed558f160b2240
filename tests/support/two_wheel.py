"""Two-wheel robots, motors and rolling states that several tests share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick
from erugin.robots import DCMotor, Robot, two_wheel_robot

from .references.two_wheel import Numbers

Array = NDArray[np.float64]
Form = Literal["full", "reduced"]

ROBOTS = {
    "offset ahead": Numbers(0.15, 0.75, 0.3, 30.0, 15.625, 1.0, 0.005, 0.0025),
    "offset behind, heavy wheels": Numbers(0.22, 0.31, -0.17, 6.5, 0.41, 2.3, 0.09, 0.061),
    "no offset": Numbers(0.05, 0.12, 0.0, 2.1, 0.013, 0.2, 0.00031, 0.00017),
}
BY_NUMBERS = pytest.mark.parametrize("numbers", list(ROBOTS.values()), ids=list(ROBOTS))
MOTORS = (DCMotor(0.9, 0.004, 0.05, 12.0, 3e-5, 2e-5), DCMotor(1.4, 0.007, 0.08, 9.0, 5e-5, 7e-5))
"""Right and left, all their numbers different and of one order of magnitude once reflected to the wheels."""


def arguments(n: Numbers) -> dict[str, float]:
    """Arguments of ``two_wheel_robot``, by name."""
    return {
        "wheel_radius": n.r,
        "half_track": n.b,
        "com_offset": n.d,
        "platform_mass": n.platform_mass,
        "platform_inertia": n.platform_inertia,
        "wheel_mass": n.wheel_mass,
        "wheel_inertia_axle": n.axle_inertia,
        "wheel_inertia_diameter": n.diameter_inertia,
    }


@functools.cache
def build(n: Numbers, form: Form = "full", *, driven: bool = False) -> Robot:
    """The robot of these numbers, with the two motors if ``driven``; built once for all tests."""
    options: dict[str, Any] = arguments(n)
    return two_wheel_robot(**options, form=form, motors=MOTORS if driven else None)


class State(NamedTuple):
    """A state of rolling in both forms: q, the velocities w and dq/dt = N w, and what N' w is; torques or voltages."""

    q: Array
    w: Array
    v: Array
    drift: Array
    u: Array


def rolling_states(n: Numbers, seed: int, *, driven: bool = False, count: int = 50) -> Iterator[State]:
    """Random states, their kinematics written by hand; the wheels' angles and charges have run on for a while."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        theta = rng.uniform(-np.pi, np.pi)
        q = np.array([*rng.uniform(-5.0, 5.0, 2), theta, *rng.uniform(-50.0, 50.0, 2)])
        speed, turning = rng.uniform(-2.0, 2.0), rng.uniform(-3.0, 3.0)
        currents = rng.uniform(-5.0, 5.0, 2) if driven else np.zeros(0)
        w = np.array([speed, turning, *currents])
        wheels = [(speed + n.b * turning) / n.r, (speed - n.b * turning) / n.r]
        v = np.array([speed * np.cos(theta), speed * np.sin(theta), turning, *wheels, *currents])
        drift = np.zeros(v.size)
        drift[:2] = -speed * turning * np.sin(theta), speed * turning * np.cos(theta)
        if driven:
            q = np.append(q, rng.uniform(-100.0, 100.0, 2))
        yield State(q, w, v, drift, rng.uniform(-12.0, 12.0, 2))


class OpenLoop(Controller):
    """Inputs as a function of time alone."""

    def __init__(self, robot: Robot, inputs: Callable[[float], Array]) -> None:
        self.robot, self.inputs = robot, inputs

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(self.inputs(t))
