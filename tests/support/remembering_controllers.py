"""Controllers with a memory, for the tests of how simulations treat one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller, Status, Tick
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

    @property
    def initial_memory(self) -> tuple[float, ...]:
        return ()

    @property
    def times(self) -> tuple[float, ...]:
        return cast(tuple[float, ...], self.memory)

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        # Without an evaluation, which ``asked`` would list.
        self.memory = (*self.times, t)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        times = cast(tuple[float, ...], memory)
        self.asked.append((t, len(times)))
        return Tick(np.full(self.robot.u.numel(), self.schedule(times[-1] if times else t)), memory=(*times, t))


class Troubled(Controller):
    """Limited, held or at a loss at stated times, and interrupted at another."""

    def __init__(
        self, robot: Robot, *, limited: float, held: float, lost: float = np.inf, stop: float = np.inf
    ) -> None:
        self.robot = robot
        self.limited, self.held, self.lost, self.stop = limited, held, lost, stop
        self.reset()

    @property
    def initial_memory(self) -> int:
        return 0

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        status = Status.HELD if t >= self.held else Status.LIMITED if t >= self.limited else Status.OK
        message = {Status.OK: "", Status.LIMITED: "too weak", Status.HELD: ""}[status]

        def after() -> int:
            if t >= self.stop:
                raise KeyboardInterrupt
            if t >= self.lost:
                raise NotConvergedError("no way out")
            return cast(int, memory) + 1

        return Tick(np.zeros(self.robot.u.numel()), status=status, explanation=message, memory=after)
