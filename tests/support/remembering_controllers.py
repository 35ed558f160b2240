"""Controllers with a memory, for the tests of how simulations treat one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller, Observation, Status
from erugin.robots import Robot
from erugin.symbolic import NotConvergedError

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


class Recorder(Controller):
    """Remembers the times of the samples; its input is that of the last one, from a schedule."""

    def __init__(self, robot: Robot, schedule: Callable[[float], float] = lambda t: t) -> None:
        self.robot, self.schedule = robot, schedule
        self.asked: list[tuple[float, int]] = []
        """Times at which control was called, and how many samples it had seen."""
        self.reset()

    def reset(self) -> None:
        self.memory = ()

    @property
    def times(self) -> tuple[float, ...]:
        return cast(tuple[float, ...], self.memory)

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        self.memory = (*self.times, t)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        self.asked.append((t, len(self.times)))
        return np.full(self.robot.u.numel(), self.schedule(self.times[-1]))


class Troubled(Controller):
    """Limited, held or at a loss at stated times, and interrupted at another."""

    def __init__(
        self, robot: Robot, *, limited: float, held: float, lost: float = np.inf, stop: float = np.inf
    ) -> None:
        self.robot = robot
        self.limited, self.held, self.lost, self.stop = limited, held, lost, stop
        self.reset()

    def reset(self) -> None:
        self.memory = 0

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        if t >= self.stop:
            raise KeyboardInterrupt
        if t >= self.lost:
            raise NotConvergedError("no way out")
        self.memory = cast(int, self.memory) + 1

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        return np.zeros(self.robot.u.numel())

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        nothing = np.zeros(0)
        status = Status.HELD if t >= self.held else Status.LIMITED if t >= self.limited else Status.OK
        message = {Status.OK: "", Status.LIMITED: "too weak", Status.HELD: ""}[status]
        return Observation(self.control(t, q, v, p), nothing, nothing, nothing, status, message)
