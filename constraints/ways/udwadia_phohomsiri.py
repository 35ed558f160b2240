"""The explicit equation of Udwadia and Phohomsiri for singular mass matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constrained_motion import ConstrainedMotion
from .way import Case, Way, truncated

Array = NDArray[np.float64]


class UdwadiaPhohomsiri(Way):
    """a = [(I − Θ⁺Θ) M; Θ]⁺ [Q; β], [UdwadiaPhohomsiri2006]_.

    The rows say what they say, and M a = Q is asked for only where they leave freedom. The matrix has full column rank
    if and only if [M; Θ] has, so that M may be singular, and rows may depend on each other or vanish.
    """

    handles = frozenset(Case)

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """By two pseudo-inverses."""
        S, theta = equations.velocity_scale, equations.scaled_rows
        M, Q, beta = equations.scaled_mass, S * equations.force, equations.row_scale * equations.right
        n = len(Q)
        V, along = np.zeros((0, n)), np.zeros(0)
        if theta.size:
            # V a = Σ⁻¹Uᵀβ says the same as Θ a = β, and as much of a row that is nearly another as of any.
            U, values, Vt = np.linalg.svd(theta, full_matrices=False)
            V, along = Vt[:rank], (U[:, :rank].T @ beta) / values[:rank]
        # (I − Θ⁺Θ) Q in place of Q is the same: the other part of it is orthogonal to the matrix's range.
        free = np.eye(n) - V.T @ V
        return S * truncated(np.vstack([free @ M, V]), np.concatenate([free @ Q, along]), n)
