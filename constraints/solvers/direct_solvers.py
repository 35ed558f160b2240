"""Solvers for independent rows: Schur complement and saddle-point matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..solvability import ConstrainedMotion
from .constrained_solver import ConstrainedSolver, SingularCase

Array = NDArray[np.float64]


class SchurComplement(ConstrainedSolver):
    """λ = K⁻¹(β − Θ M⁻¹Q) with K = Θ M⁻¹ Θᵀ, and a = M⁻¹(Q + Θᵀλ), [Deressa2015]_ (1.16)–(1.19).

    For M > 0 and independent rows.
    """

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve by two Cholesky factorizations."""
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


class SaddlePoint(ConstrainedSolver):
    """[M −Θᵀ; Θ 0] [a; λ] = [Q; β] by LU with pivoting, [Deressa2015]_ (1.15).

    Regular if and only if the rows are independent and [M; Θ] has full column rank; M may be singular.
    """

    supported_cases = frozenset({SingularCase.SINGULAR_MASS})

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve the saddle-point equations at once."""
        del rank
        S, F, theta = equations.velocity_scale, equations.row_scale, equations.scaled_rows
        m, n = theta.shape
        whole = np.block([[equations.scaled_mass, -theta.T], [theta, np.zeros((m, m))]])
        right = np.concatenate([S * equations.force, F * equations.right])
        return np.asarray(S * np.linalg.solve(whole, right)[:n], dtype=np.float64)
