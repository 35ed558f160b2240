"""A controller whose output never changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller
from erugin.robots import Robot

Array = NDArray[np.float64]


class Constant(Controller):
    """A battery on a circuit, a wind of constant force."""

    def __init__(self, robot: Robot, *output: float) -> None:
        self.robot, self.output = robot, np.array(output)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        return self.output
