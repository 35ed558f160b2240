"""Which matrices are the inertia of some body."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError


def require_inertia(what: str, inertia: NDArray[np.float64], tolerance: float = 1e-9) -> None:
    """Raise ModelError unless some body has this inertia about its centre of mass.

    It must be symmetric, and each principal moment at most the sum of the two others (their sum less the third is twice
    ∫ x² dm along the third axis). A moment about one axis alone, as of a body in a plane, is none of a body in space,
    but nothing else is felt of it there.

    Args:
        what: names it in the message.
        inertia: shape (3, 3) [kg m²].
        tolerance: relative to the largest moment.
    """
    if not np.isfinite(inertia).all() or np.abs(inertia - inertia.T).max() > tolerance * np.abs(inertia).max():
        raise ModelError(f"{what} must be a symmetric matrix of finite numbers, got {inertia.tolist()}")
    if np.count_nonzero(inertia) == 1 and inertia[2, 2] > 0.0:
        return
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -tolerance * moments[2] or moments[2] - moments[0] - moments[1] > tolerance * moments[2]:
        raise ModelError(
            f"{what} belongs to no body: of its principal moments {moments.tolist()} each must be at least zero and at "
            "most the sum of the two others"
        )
