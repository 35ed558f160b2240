"""The abstract wrapper that changes what a law sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .signal_wrapper import SignalWrapper
from .wrapper import Own

Array = NDArray[np.float64]


class Sensor(SignalWrapper[Own]):
    """u(t) = law(t, measured(t, q, v))."""

    def shaped(self, own: Own | None, t: float, command: Array) -> tuple[Array, str]:
        """The law's output as it is.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            command: what the law says, shape (n,).
        """
        return command, ""
