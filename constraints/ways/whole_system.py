"""The whole matrix of accelerations and multipliers at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constrained_motion import ConstrainedMotion
from .way import Case, Way

Array = NDArray[np.float64]


class WholeSystem(Way):
    """[M −Θᵀ; Θ 0] [a; λ] = [Q; β] by LU with pivoting, [Deressa2015]_ (1.15).

    Regular if and only if the rows are independent and [M; Θ] has full column rank; M may be singular.
    """

    handles = frozenset({Case.SINGULAR_MASS})

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """By one solve."""
        del rank
        S, F, theta = equations.velocity_scale, equations.row_scale, equations.scaled_rows
        m, n = theta.shape
        whole = np.block([[equations.scaled_mass, -theta.T], [theta, np.zeros((m, m))]])
        right = np.concatenate([S * equations.force, F * equations.right])
        return np.asarray(S * np.linalg.solve(whole, right)[:n], dtype=np.float64)
