"""Gaussian elimination of expressions, unrolled into scalar operations, for matrices near the identity."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError


@dataclass(frozen=True, eq=False)
class Elimination:
    """A = L U with unit lower triangular L and no exchange of rows: factor once, solve many.

    An expression cannot choose its pivots. It need not where the absolute elements of each row of A − E sum to less
    than one half: A is then diagonally dominant, no pivot falls below one half, and no element grows beyond twice the
    largest.

    Attributes:
        factors: L below the diagonal and U on and above it, shape (n, n).
    """

    factors: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX) -> Elimination:
        """Factorize ``matrix``, shape (n, n).

        Raises:
            ModelError: if it is not square.
        """
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"only a square matrix can be factorized, got shape {matrix.shape}")
        rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
        for k in range(n):
            for i in range(k + 1, n):
                rows[i][k] = rows[i][k] / rows[k][k]
                for j in range(k + 1, n):
                    rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j]
        return cls(ca.vertcat(ca.SX(0, n), *(ca.horzcat(*row) for row in rows)))

    def solve(self, right: ca.SX) -> ca.SX:
        """x with A x = right, for a right side of shape (n, k)."""
        n = self.factors.size1()
        rows = [right[i, :] for i in range(n)]
        for i in range(n):
            for k in range(i):
                rows[i] = rows[i] - self.factors[i, k] * rows[k]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.factors[i, k] * rows[k]
            rows[i] = rows[i] / self.factors[i, i]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)
