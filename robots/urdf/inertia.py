"""Whether a body can have the mass and the inertia that a link is said to have."""

from __future__ import annotations

import numpy as np

from .elements import Inertial

RELATIVE = 1e-3
"""Part of the largest principal moment by which it may exceed the sum of the others: files are rounded."""
RADIUS = 1e-6
"""Radius of gyration [m] below which an inertia is nothing but rounding."""


def impossible_inertia(inertial: Inertial) -> str | None:
    """Why no body has this inertia; None if one has.

    The matrix of second moments of mass, ∫ x xᵀ dm = ½ tr(I) E − I, is positive semidefinite for every body. In
    principal moments I₁ ≤ I₂ ≤ I₃ this is the triangle inequality I₁ + I₂ ≥ I₃, from which I₁ ≥ 0 follows. A rod or a
    plate, where both sides are equal, and numbers that are rounded need a tolerance: ``RELATIVE`` · I₃ + m ``RADIUS``².

    Args:
        inertial: with a mass of at least zero.
    """
    matrix = inertial.matrix
    if inertial.mass == 0.0:
        if not matrix.any():
            return None
        return "the link has inertia but no mass"
    low, middle, high = np.linalg.eigvalsh(matrix).tolist()
    if low + middle - high >= -(RELATIVE * abs(high) + inertial.mass * RADIUS**2):
        return None
    moments = f"the principal moments are {low:.4g}, {middle:.4g} and {high:.4g} kg m²"
    if low < -RELATIVE * high:
        return f"{moments}, but no body has a negative one"
    return f"{moments}, but no body has one that is greater than the sum of the other two"
