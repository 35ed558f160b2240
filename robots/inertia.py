"""Which matrices are the inertia of some body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError


def impossible_moments(inertia: NDArray[np.float64], relative: float = 1e-9, absolute: float = 0.0) -> str | None:
    """Why no body has this inertia about its centre of mass; None if one has.

    The matrix of second moments of mass, ∫ x xᵀ dm = ½ tr(I) E − I, is positive semidefinite for every body. In
    principal moments I₁ ≤ I₂ ≤ I₃ this is the triangle inequality I₁ + I₂ ≥ I₃, from which I₁ ≥ 0 follows. A rod or a
    plate, where both sides are equal, and numbers that are rounded need a tolerance.

    Args:
        inertia: symmetric, shape (3, 3) [kg m²].
        relative: tolerance as a share of I₃.
        absolute: tolerance that is added to it [kg m²].
    """
    low, middle, high = np.linalg.eigvalsh(inertia).tolist()
    if low + middle - high >= -(relative * abs(high) + absolute):
        return None
    moments = f"the principal moments are {low:.4g}, {middle:.4g} and {high:.4g} kg m²"
    if low < -relative * high:
        return f"{moments}, but no body has a negative one"
    return f"{moments}, but no body has one that is greater than the sum of the other two"


def require_inertia(what: str, inertia: NDArray[np.float64], tolerance: float = 1e-9) -> None:
    """Raise ModelError unless some body has this inertia about its centre of mass.

    A moment about one axis alone, as of a body in a plane, is none of a body in space, but nothing else is felt there.

    Args:
        what: names it in the message.
        inertia: shape (3, 3) [kg m²].
        tolerance: relative to the largest entry.
    """
    if not np.isfinite(inertia).all() or np.abs(inertia - inertia.T).max() > tolerance * np.abs(inertia).max():
        raise ModelError(f"{what} must be a symmetric matrix of finite numbers, got {inertia.tolist()}")
    if np.count_nonzero(inertia) == 1 and inertia[2, 2] > 0.0:
        return
    reason = impossible_moments(inertia, tolerance)
    if reason is not None:
        raise ModelError(f"{what}: {reason}")
