"""Where a short label covers least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SIDES = [(1.0, 0.0), (-1.0, 0.0), (0.8, 0.6), (-0.8, 0.6), (0.8, -0.6), (-0.8, -0.6), (0.0, 0.7), (0.0, -0.7)]
AROUND: Array = np.array(SIDES)
"""Directions from a point to its label, which is wider than high, those first that are preferred."""


def free_place(places: Array, taken: Array) -> Array:
    """That of the places which is farthest from what is there already, the first of them if several are.

    Args:
        places: shape (k, 2) [m].
        taken: points that should not be covered, shape (n, 2) [m].

    Returns:
        Shape (2,).
    """
    # A label is about twice as wide as the room that it needs above and below.
    apart = (places[:, None] - taken) * [0.5, 1.0]
    return np.asarray(places[np.argmax(np.sqrt((apart**2).sum(axis=2)).min(axis=1).round(6))])
