"""A controller without a law."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.controllers import Controller

Array = NDArray[np.float64]


class Called(Controller):
    """A controller that hides the law of another, as any Python object has none."""

    def __init__(self, inner: Controller) -> None:
        self.inner, self.robot, self.parameters = inner, inner.robot, inner.parameters
        self.applies_force = inner.applies_force
        self.resets = 0

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        return self.inner.control(t, q, v, p)

    def reset(self) -> None:
        self.resets += 1
