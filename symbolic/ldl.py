"""LDLᵀ factorization of a symmetric positive definite matrix of expressions, unrolled into scalar operations."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError

ROUNDING = 1e-15
"""What a pivot may be off by, as a share of A_jj, before small pivots amplify it."""


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
        products = ca.SX.zeros(n, n)  # L D, below the diagonal
        for j in range(n):
            pivot = matrix[j, j]
            for k in range(j):
                pivot = pivot - lower[j, k] * products[j, k]
            pivots.append(pivot)
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in range(j):
                    entry = entry - lower[i, k] * products[j, k]
                products[i, j] = entry
                lower[i, j] = entry / pivot
        empty = ca.SX(0, 1)
        relative = [ca.if_else(matrix[i, i] > 0, pivots[i] / matrix[i, i], 0) for i in range(n)]
        return cls(lower, ca.vertcat(empty, *pivots), ca.vertcat(empty, *relative))

    def certain_pivots(self, matrix: ca.SX) -> ca.SX:
        """D with zero for a pivot that may be nothing but rounding, shape (n,).

        A small pivot D_k hands its own rounding on to later ones, L_jk² times.

        Args:
            matrix: A, shape (n, n).
        """
        pivots: list[ca.SX] = []
        noise: list[ca.SX] = []
        for j in range(self.diagonal.numel()):
            pivot = self.diagonal[j]
            # Below the first pivot nothing is larger than the matrix was.
            passed = [self.lower[j, k] ** 2 * noise[k] for k in range(1, j)]
            noise.append(ROUNDING * matrix[j, j] + sum(passed, ca.SX(0)))
            if passed:
                pivot = ca.if_else(pivot > noise[j], pivot, ca.if_else(pivot <= noise[j], 0, float("nan")))
            pivots.append(pivot)
        return ca.vertcat(ca.SX(0, 1), *pivots)

    def solve(self, right: ca.SX) -> ca.SX:
        """x with A x = right, for a right side of shape (n, k)."""
        return self.backward(self.weighted(self.forward(right)))

    def forward(self, right: ca.SX) -> ca.SX:
        """y = L⁻¹ right: half of the way, and all of it for products, right₁ᵀ A⁻¹ right₂ = y₁ᵀ D⁻¹ y₂.

        Args:
            right: shape (n, k).
        """
        rows = [right[i, :] for i in range(right.size1())]
        for i in range(len(rows)):
            for k in range(i):
                rows[i] = rows[i] - self.lower[i, k] * rows[k]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)

    def weighted(self, half: ca.SX) -> ca.SX:
        """D⁻¹ y.

        Args:
            half: y, shape (n, k).
        """
        rows = [half[i, :] / self.diagonal[i] for i in range(half.size1())]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)

    def rooted(self, half: ca.SX) -> ca.SX:
        """D^(−½) y: a vector whose length is that of what was solved for in the metric A⁻¹, and is not squared.

        Args:
            half: y, shape (n, k).
        """
        rows = [half[i, :] / ca.sqrt(self.diagonal[i]) for i in range(half.size1())]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)

    def backward(self, half: ca.SX) -> ca.SX:
        """x = L⁻ᵀ y.

        Args:
            half: y, shape (n, k).
        """
        n = half.size1()
        rows = [half[i, :] for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k, i] * rows[k]
        return ca.vertcat(ca.SX(0, half.size2()), *rows)
