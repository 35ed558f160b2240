"""A globe, and a line on it, for a pen to draw."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

CENTER: NDArray[np.float64] = np.array([0.5, 0.0, 0.35])
RADIUS, HEIGHT, WAVE = 0.15, 0.1, 0.3
START: NDArray[np.float64] = CENTER + np.array([(RADIUS**2 - HEIGHT**2) ** 0.5, 0.0, HEIGHT])
"""A point of the line [m]."""


def wavy_line(x: ca.SX, t: ca.SX) -> ca.SX:
    """A wavy circle of latitude: on the sphere, and on a saddle across it.

    Args:
        x: place, shape (3,) [m].
        t: time [s].

    Returns:
        Two functions that vanish on it, shape (2,) [m].
    """
    y = x - ca.DM(CENTER)
    return ca.vertcat(ca.norm_2(y) - RADIUS, y[2] - HEIGHT - WAVE * y[0] * y[1] / RADIUS)
