"""LDLᵀ factorization of a symmetric positive definite matrix of expressions, unrolled into scalar operations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError


@dataclass(frozen=True, eq=False)
class Ldl:
    """A = L D Lᵀ with unit lower triangular L: factor once, solve many.

    Attributes:
        lower: L, shape (n, n).
        diagonal: the pivots D, shape (n,).
        relative_pivots: D_i / A_ii, shape (n,), each in [0, 1]. When A = Θ M⁻¹ Θᵀ it is the squared sine of the angle
            (in the metric M⁻¹) between row i of Θ and the span of the rows before it: zero where row i depends on them.
            Zero too where A_ii is: there row i itself vanishes.
    """

    lower: ca.SX
    diagonal: ca.SX
    relative_pivots: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX) -> Ldl:
        """Factorize ``matrix``, shape (n, n); only its lower triangle is read."""
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"only a square matrix can be factorized, got shape {matrix.shape}")
        lower = ca.SX.eye(n)
        pivots: list[ca.SX] = []
        for j in range(n):
            pivot = matrix[j, j]
            for k in range(j):
                pivot = pivot - lower[j, k] ** 2 * pivots[k]
            pivots.append(pivot)
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in range(j):
                    entry = entry - lower[i, k] * lower[j, k] * pivots[k]
                lower[i, j] = entry / pivot
        diagonal = ca.vertcat(ca.SX(0, 1), *pivots)
        relative = [ca.if_else(matrix[i, i] > 0, pivots[i] / matrix[i, i], 0) for i in range(n)]
        return cls(lower, diagonal, ca.vertcat(ca.SX(0, 1), *relative))

    def solve(self, right: ca.SX) -> ca.SX:
        """x with A x = right, for a right side of shape (n, k)."""
        n = self.diagonal.numel()
        rows = [right[i, :] for i in range(n)]
        for i in range(n):
            for k in range(i):
                rows[i] = rows[i] - self.lower[i, k] * rows[k]
        rows = [rows[i] / self.diagonal[i] for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k, i] * rows[k]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)
