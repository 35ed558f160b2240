"""Least-norm multipliers by the pseudo-inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constrained_motion import ConstrainedMotion
from .way import Case, Way, truncated

Array = NDArray[np.float64]


class LeastNorm(Way):
    """a = M⁻¹Q + M^(−½) C⁺ (β − Θ M⁻¹Q) with C = Θ M^(−½), so that C⁺ᵀC⁺ = (Θ M⁻¹ Θᵀ)⁺.

    Way I and way II of [Deressa2015]_ section 1.2.1, (1.20)–(1.23) and (1.19) with a pseudo-inverse, which coincide:
    the force R = Θᵀλ is unique where λ is not. M^(½) is a Cholesky factor, and the singular values of C are not squared
    on the way. For M > 0 and any rows.
    """

    handles = frozenset({Case.DEPENDENT_ROWS, Case.VANISHING_ROWS, Case.MORE_ROWS})

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """By a Cholesky factorization and an SVD."""
        S, F = equations.velocity_scale, equations.row_scale
        return S * least_change(
            equations.scaled_mass, S * equations.force, equations.scaled_rows, F * equations.right, rank
        )


def least_change(M: Array, Q: Array, theta: Array, beta: Array, rank: int) -> Array:
    """The acceleration that changes M⁻¹Q least in the metric M, among those with Θ a = β: Gauss's principle.

    Args:
        M: positive definite, shape (n, n).
        Q: shape (n,).
        theta: Θ, shape (m, n).
        beta: β, shape (m,), in the range of Θ.
        rank: of Θ.
    """
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(L, Q)
    C = np.asarray(np.linalg.solve(L, theta.T).T, dtype=np.float64)
    change = truncated(C, beta - C @ free, rank) if C.size else np.zeros(len(Q))
    return np.asarray(np.linalg.solve(L.T, free + change), dtype=np.float64)
