"""Whether a body can have the mass and the inertia that a link is said to have."""

from __future__ import annotations

from ..inertia import impossible_moments
from .elements import Inertial

RELATIVE = 1e-3
"""Part of the largest principal moment by which it may exceed the sum of the others: files are rounded."""
RADIUS = 1e-6
"""Radius of gyration [m] below which an inertia is nothing but rounding."""


def impossible_inertia(inertial: Inertial) -> str | None:
    """Why no body has this inertia; None if one has.

    The tolerance is ``RELATIVE`` · I₃ + m ``RADIUS``²; see :func:`~erugin.robots.inertia.impossible_moments`.

    Args:
        inertial: with a mass of at least zero.
    """
    matrix = inertial.matrix
    if inertial.mass == 0.0:
        if not matrix.any():
            return None
        return "the link has inertia but no mass"
    return impossible_moments(matrix, RELATIVE, inertial.mass * RADIUS**2)
