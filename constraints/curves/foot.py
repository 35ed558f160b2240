"""The foot of the perpendicular from a place to a parametrised path."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca

HIDDEN, OPEN = 2, 3
"""Newton steps that derivatives do not see, and those that they do."""
GRID = 2.0**-20
"""Share of the path to which the parameter is rounded between the two."""

Derivatives = Callable[[ca.SX], tuple[ca.SX, ca.SX, ca.SX]]
"""Parameter s → c(s), c′(s), c″(s), each of shape (n,)."""


def foot(
    x: ca.SX, samples: Sequence[tuple[float, ca.SX]], path: Derivatives
) -> tuple[ca.SX, tuple[ca.SX, ca.SX, ca.SX]]:
    """Parameter of the foot of the perpendicular, with c, c′, c″ there.

    The nearest of some fixed samples starts Newton's method on (x − c(s))·c′(s) = 0; its steps from there, each
    squaring the error, leave rounding error, also in the derivatives that are taken of them later: from a constant
    start k steps have those of the foot up to order 2ᵏ − 1. So the last three serve up to the seventh, and the first
    two lead to a start that is rounded to a grid, and with it constant: their derivatives would only cost.

    Args:
        x: place, shape (n,) [m].
        samples: parameters, and the places on the path that belong to them, shape (n,) each.
        path: the path.
    """
    first = samples[0]
    s, nearest = ca.SX(first[0]), ca.sumsqr(x - first[1])
    for parameter, place in samples[1:]:
        distance = ca.sumsqr(x - place)
        s = ca.if_else(distance < nearest, parameter, s)
        nearest = ca.fmin(distance, nearest)
    grid = GRID * 2.0 ** math.floor(math.log2(samples[-1][0] - first[0]))
    for step in range(HIDDEN + OPEN):
        if step == HIDDEN:
            s = grid * ca.floor(s / grid)
        place, slope, bend = path(s)
        square = ca.sumsqr(slope)
        # Towards the centre of curvature the denominator falls to zero, and beyond it a foot is not unique: a tenth of
        # |c′|² keeps the step finite there.
        s = s + ca.dot(x - place, slope) / ca.fmax(square - ca.dot(x - place, bend), 0.1 * square)
    return s, path(s)
