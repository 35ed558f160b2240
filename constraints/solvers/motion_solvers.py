"""Solvers of a constrained motion: direct ones for independent rows, and those of least norm for any rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...symbolic.validation import positive, whole
from ..solvability import ConstrainedMotion
from .constrained_solver import ConstrainedSolver, SingularCase, truncated_solution

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


class LeastNorm(ConstrainedSolver):
    """a = M⁻¹Q + M^(−½) C⁺ (β − Θ M⁻¹Q) with C = Θ M^(−½), so that C⁺ᵀC⁺ = (Θ M⁻¹ Θᵀ)⁺.

    Way I and way II of [Deressa2015]_ section 1.2.1, (1.20)–(1.23) and (1.19) with a pseudo-inverse, which coincide:
    the force R = Θᵀλ is unique where λ is not. M^(½) is a Cholesky factor, and the singular values of C are not squared
    on the way. For M > 0 and any rows.
    """

    supported_cases = frozenset({SingularCase.DEPENDENT_ROWS, SingularCase.VANISHING_ROWS, SingularCase.MORE_ROWS})

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve by a Cholesky factorization and an SVD."""
        S, F = equations.velocity_scale, equations.row_scale
        return S * least_change_acceleration(
            equations.scaled_mass, S * equations.force, equations.scaled_rows, F * equations.right, rank
        )


def least_change_acceleration(M: Array, Q: Array, theta: Array, beta: Array, rank: int) -> Array:
    """Return the acceleration with Θ a = β that is nearest to M⁻¹Q in the metric M: Gauss's principle.

    Args:
        M: positive definite, shape (n, n).
        Q: shape (n,).
        theta: Θ, shape (m, n).
        beta: β, shape (m,), in the range of Θ.
        rank: rank of Θ.
    """
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(L, Q)
    C = np.asarray(np.linalg.solve(L, theta.T).T, dtype=np.float64)
    change = truncated_solution(C, beta - C @ free, rank) if C.size else np.zeros(len(Q))
    return np.asarray(np.linalg.solve(L.T, free + change), dtype=np.float64)


class Augmented(ConstrainedSolver):
    """M + c ΘᵀΘ in place of M and Q + c Θᵀβ in place of Q, then as for a regular M.

    The additional term, c Θᵀ(Θ a − β), vanishes along the motion, so that neither a nor λ changes. The new matrix is
    positive definite if and only if [M; Θ] has full column rank, so that M may be singular. Θ and M are measured in
    comparable units, with rows about one long, so that for c = 1 both terms are of the same size.

    Attributes:
        weight: c.
    """

    supported_cases = frozenset(SingularCase)

    def __init__(self, weight: float = 1.0) -> None:
        """Set the weight.

        Args:
            weight: c > 0; any value gives the same motion, one near 1 the best conditioned matrix.

        Raises:
            ModelError: if the weight is not positive.
        """
        self.weight = positive("weight", weight)

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve as :class:`LeastNorm` with the augmented matrix."""
        S, theta, beta = equations.velocity_scale, equations.scaled_rows, equations.row_scale * equations.right
        M = equations.scaled_mass + self.weight * theta.T @ theta
        Q = S * equations.force + self.weight * theta.T @ beta
        return S * least_change_acceleration(M, Q, theta, beta, rank)


ENOUGH = 1e-15
"""Relative change of a below which a step is rounding."""

MOST_STEPS = 100_000


class Proximal(ConstrainedSolver):
    """(K + εI) λ₊ = β − Θ M⁻¹Q + ε λ from λ = 0, with K = Θ M⁻¹ Θᵀ, without deciding a rank or branching.

    Solved as [M −Θᵀ; Θ εI] [a; λ₊] = [Q; β + ελ], which does not need M⁻¹ and is regular if and only if [M; Θ] has full
    column rank. Each step shrinks the error along an eigenvector of K by ε/(κ + ε), and λ stays in the range of K: it
    converges to the least-norm solution if there is one, and diverges if rows contradict each other. The steps are
    those of the augmented Lagrangian with c = 1/ε, as in Pinocchio's proximal solver [Carpentier2021]_.

    Attributes:
        epsilon: ε, for rows about one long in comparable units.
        steps: largest number of steps.
    """

    supported_cases = frozenset(SingularCase)

    def __init__(self, epsilon: float = 1e-7, steps: int = 100) -> None:
        """Set ε and the largest number of steps.

        Args:
            epsilon: ε > 0; smaller converges in fewer steps, and loses more digits of λ if rows are dependent.
            steps: largest number of steps, at least one.

        Raises:
            ModelError: if ε is not positive, or there are no steps.
        """
        self.epsilon = positive("epsilon", epsilon)
        self.steps = whole("steps", steps, most=MOST_STEPS, advice="use a smaller epsilon")

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve with one matrix for all steps."""
        del rank
        S, theta, beta = equations.velocity_scale, equations.scaled_rows, equations.row_scale * equations.right
        m, n = theta.shape
        whole = np.block([[equations.scaled_mass, -theta.T], [theta, self.epsilon * np.eye(m)]])
        # All right sides are combinations of these columns: [Q; β] and [0; ε λ].
        particular = np.linalg.solve(whole, np.concatenate([S * equations.force, beta]))
        step = np.linalg.solve(whole, np.vstack([np.zeros((n, m)), self.epsilon * np.eye(m)]))
        x = particular
        for _ in range(self.steps):
            after = particular + step @ x[n:]
            moved = float(np.abs(after[:n] - x[:n]).max(initial=0.0))
            x = after
            if moved <= ENOUGH * float(np.abs(x[:n]).max(initial=0.0)):
                break
        return np.asarray(S * x[:n], dtype=np.float64)


class UdwadiaPhohomsiri(ConstrainedSolver):
    """a = [(I − Θ⁺Θ) M; Θ]⁺ [Q; β], [UdwadiaPhohomsiri2006]_.

    The rows hold exactly, and M a = Q is required only where they leave freedom. The matrix has full column rank if and
    only if [M; Θ] has, so that M may be singular, and rows may depend on each other or vanish.
    """

    supported_cases = frozenset(SingularCase)

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """Solve by two pseudo-inverses."""
        S, theta = equations.velocity_scale, equations.scaled_rows
        M, Q, beta = equations.scaled_mass, S * equations.force, equations.row_scale * equations.right
        n = len(Q)
        V, along = np.zeros((0, n)), np.zeros(0)
        if theta.size:
            # V a = Σ⁻¹Uᵀβ is equivalent to Θ a = β, and gives a row that is nearly another the same weight as any.
            U, values, Vt = np.linalg.svd(theta, full_matrices=False)
            V, along = Vt[:rank], (U[:, :rank].T @ beta) / values[:rank]
        # (I − Θ⁺Θ) Q in place of Q gives the same: the rest of Q is orthogonal to the matrix's range.
        free = np.eye(n) - V.T @ V
        return S * truncated_solution(np.vstack([free @ M, V]), np.concatenate([free @ Q, along]), n)
