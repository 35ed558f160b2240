"""The abstract wrapper that changes what becomes of a law's output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .signal_wrapper import SignalWrapper
from .wrapper import Own

Array = NDArray[np.float64]


class Drive(SignalWrapper[Own]):
    """u(t) = shaped(t, law(t, q, v))."""

    def measured(self, own: Own | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state as it is.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return q, v
