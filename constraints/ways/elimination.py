"""The regular case: λ from Θ M⁻¹ Θᵀ by Cholesky."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constrained_motion import ConstrainedMotion
from .way import Way

Array = NDArray[np.float64]


class Elimination(Way):
    """λ = K⁻¹(β − Θ M⁻¹Q) with K = Θ M⁻¹ Θᵀ, and a = M⁻¹(Q + Θᵀλ), [Deressa2015]_ (1.16)–(1.19).

    For M > 0 and independent rows.
    """

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """By two Cholesky factorizations."""
        del rank
        S, F, theta = equations.velocity_scale, equations.row_scale, equations.scaled_rows
        L = np.linalg.cholesky(equations.scaled_mass)
        free = np.linalg.solve(L, S * equations.force)
        C = np.linalg.solve(L, theta.T).T
        if not len(C):
            return np.asarray(S * np.linalg.solve(L.T, free), dtype=np.float64)
        K = np.linalg.cholesky(C @ C.T)
        lam = np.linalg.solve(K.T, np.linalg.solve(K, F * equations.right - C @ free))
        return np.asarray(S * np.linalg.solve(L.T, free + C.T @ lam), dtype=np.float64)
