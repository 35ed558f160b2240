"""How a body is turned, where all turns on the way to it are about one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PARALLEL = 1e-12
"""How far the cosine of an angle may be from ±1 for two axes to be one."""


@dataclass(frozen=True, eq=False)
class Turning:
    """The rotation Rot(axis, rates · q) · start of a body in the world.

    Attributes:
        axis: unit vector in the world; None if nothing turns.
        rates: share of each velocity in the turn, shape (nv,), or (0,) if nothing turns.
        start: rotation where the turn is zero, shape (3, 3).
    """

    axis: Array | None
    rates: Array
    start: Array

    @property
    def turns(self) -> bool:
        """Whether any coordinate turns the body."""
        return bool(np.any(self.rates))

    @property
    def own_axis(self) -> Array:
        """The axis in the body, about which alone it turns, shape (3,); its z axis if it does not turn."""
        return np.array([0.0, 0.0, 1.0]) if self.axis is None else self.start.T @ self.axis

    def along(self, axis: Array) -> float | None:
        """1 or −1 if another axis lies along this one, the same way or against it; None if not.

        Args:
            axis: unit vector in the world.
        """
        cosine = 1.0 if self.axis is None else float(self.axis @ axis)
        return None if abs(abs(cosine) - 1.0) > PARALLEL else float(np.sign(cosine))


STILL = Turning(None, np.zeros(0), np.eye(3))
"""The world."""
