"""A two-wheel robot along a figure eight."""

from __future__ import annotations

import numpy as np

from .two_wheel_tracking import Array


def along_eight(t: float, size: float = 1.5, rate: float = 0.4) -> tuple[Array, Array, Array]:
    """The figure of eight of the tests and its derivatives, by hand."""
    a = rate * t
    place = size * np.array([np.sin(a), np.sin(2 * a) / 2])
    return (
        place,
        size * rate * np.array([np.cos(a), np.cos(2 * a)]),
        size * rate**2 * np.array([-np.sin(a), -2 * np.sin(2 * a)]),
    )
