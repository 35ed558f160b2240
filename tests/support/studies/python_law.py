"""A pendulum under a law in Python that remembers: what cannot run side by side in threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import Normal, Setup, Study, scenario

Array = NDArray[np.float64]

ROBOT = planar_manipulator([Link.point_mass(1.0, 1.0)])


class Damping(Controller):
    """u = −k v."""

    def __init__(self, gain: float) -> None:
        """Take the gain [N m s]."""
        self.robot, self.gain = ROBOT, gain

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """The torque at one tick."""
        return Tick(-self.gain * np.asarray(v, dtype=np.float64))


def strong(setup: Setup) -> Damping:
    """More of it."""
    return Damping(5.0)


def weak(setup: Setup) -> Damping:
    """Less of it."""
    return Damping(1.0)


@scenario("damped-pendulum")
def damped(*, duration: float = 0.02, step: float = 1e-3) -> Setup:
    """A pendulum falls through oil.

    Args:
        duration: of the motion [s].
        step: of the integration [s].
    """
    start = {"q0.q1": Normal(0.3, 0.1)}
    return Setup(ROBOT, None, [0.3], [0.0], duration, step, error=ROBOT.q[0] ** 2, randomization=start)


study = Study(damped, {}, {"strong": strong, "weak": weak}, seeds=10, runs_per_task=2)
