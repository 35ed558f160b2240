"""A mass on a rail and laws for it that are called, for the tests of wrappers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller, Tick
from erugin.robots import Robot, lagrangian_system

Array = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Values = Mapping[str, float] | ArrayLike | None


@functools.cache
def rail(stiffness: float = 0.0, damping: float = 0.0) -> Robot:
    """ẍ = u − d ẋ − k x."""
    x, v, u = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("u")
    return lagrangian_system(q=x, v=v, T=v**2 / 2, V=stiffness * x**2 / 2, D=damping * v**2 / 2, Q=u, u=u, name="rail")


class Feedback(Controller):
    """u = −K (x, v)."""

    def __init__(self, robot: Robot, gains: ArrayLike) -> None:
        self.robot, self.gains = robot, np.array(gains, dtype=np.float64)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        _, x, w, _ = self.arguments(t, q, v, p)
        return Tick(np.atleast_1d(-self.gains @ np.concatenate([x, w])))


class Signal(Controller):
    """u = f(t)."""

    def __init__(self, robot: Robot, signal: Callable[[float], float]) -> None:
        self.robot, self.signal = robot, signal

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        self.arguments(t, q, v, p)
        return Tick(np.full(self.robot.u.numel(), self.signal(t)))


class Seen(Controller):
    """u = one entry of (q, v)."""

    def __init__(self, robot: Robot, what: int = 0) -> None:
        self.robot, self.what = robot, what

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        _, x, w, _ = self.arguments(t, q, v, p)
        return Tick(np.full(self.robot.u.numel(), np.concatenate([x, w])[self.what]))


def observations(controller: Controller, times: Floats, q: Floats, v: Floats | None = None) -> list[Tick]:
    """Observations of a controller at given samples."""
    controller.reset()
    speeds = np.zeros(len(times)) if v is None else v
    found: list[Tick] = []
    for t, x, w in zip(times.tolist(), q.tolist(), speeds.tolist(), strict=True):
        controller.advance(t, [x], [w])
        found.append(controller.observe(t, [x], [w]))
        np.testing.assert_array_equal(controller.control(t, [x], [w]), found[-1].output)
    return found


def outputs(controller: Controller, times: Floats, q: Floats, v: Floats | None = None) -> Array:
    """The first output along given samples, shape (N,)."""
    return np.array([observation.output[0] for observation in observations(controller, times, q, v)])
