"""Continuity of bases: a new basis turned towards an old one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import ModelError, ShapeError

Array = NDArray[np.float64]

SMALLEST_COSINE = 1e-3
"""Subspaces with a larger angle between them have no nearest bases that rounding does not decide."""


def aligned(basis: ArrayLike, previous: ArrayLike) -> Array:
    """The basis of the same subspace that is nearest to a previous one: V₂ Q with orthogonal Q.

    Q = U Wᵀ of the singular value decomposition V₂ᵀV₂₀ = U Σ Wᵀ makes |V₂ Q − V₂₀| least (the orthogonal Procrustes
    problem, [Schonemann1966]_). Along a motion it takes out the jumps and flips of sign that a choice of bases has, and
    tends to the transported basis, V₂ᵀ V̇₂ = 0, as the steps go to zero. Velocities are carried over by w₊ = V₂₊ᵀ v,
    whatever the basis.

    Args:
        basis: V₂, orthonormal columns, shape (n, k).
        previous: V₂₀, orthonormal columns, shape (n, k).

    Raises:
        ShapeError: if the shapes differ, or numbers are not finite.
        ModelError: if a direction of one subspace is at a right angle to the other, so that no basis is nearest; take
            shorter steps.
    """
    new, old = np.asarray(basis, dtype=np.float64), np.asarray(previous, dtype=np.float64)
    if new.shape != old.shape or new.ndim != 2:
        raise ShapeError(f"both bases must have one shape (n, k), got {new.shape} and {old.shape}")
    if not (np.isfinite(new).all() and np.isfinite(old).all()):
        raise ShapeError("both bases must be finite, but one has numbers that are NaN or infinite")
    left, cosines, right = np.linalg.svd(new.T @ old)
    least = float(cosines.min(initial=1.0))
    if not least > SMALLEST_COSINE:
        angle = float(np.degrees(np.arccos(np.clip(least, 0.0, 1.0))))
        raise ModelError(
            f"the new subspace has turned by {angle:.3g} degrees against the previous one, at most "
            f"{np.degrees(np.arccos(SMALLEST_COSINE)):.4g} can be followed; choose bases at shorter steps"
        )
    return np.asarray(new @ (left @ right), dtype=np.float64)
