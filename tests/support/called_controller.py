"""A controller without a law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick

Array = NDArray[np.float64]


class Called(Controller):
    """A controller that hides the law of another, as any Python object has none."""

    def __init__(self, inner: Controller) -> None:
        self.inner, self.robot, self.parameters = inner, inner.robot, inner.parameters
        self.applies_force = inner.applies_force
        self.resets = 0

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(self.inner.control(t, q, v, p))

    def reset(self) -> None:
        self.resets += 1
