"""A controller whose output never changes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick
from erugin.robots import Robot

Array = NDArray[np.float64]


class Constant(Controller):
    """A battery on a circuit, a wind of constant force."""

    def __init__(self, robot: Robot, *output: float) -> None:
        self.robot, self.output = robot, np.array(output)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(self.output)
