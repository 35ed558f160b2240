"""LDLᵀ factorization of a positive semidefinite matrix of expressions, with zero pivots passed over."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from .errors import ModelError
from .ldl import Ldl

TOLERANCE = 1e-10
"""Share of its scale below which a pivot counts as zero: the square of an angle of 1e-5."""

ROUNDING = 2e-14
"""Hundred units of rounding: what a pivot may be off by, as a share of its scale, before small pivots amplify it."""


@dataclass(frozen=True, eq=False)
class SemidefiniteLdl:
    """A = L D Lᵀ of rank r with n − r zero columns in L, and from it the least-norm solution of A x = b.

    A row that depends on the rows before it has a zero pivot; its column is left out and its own equation with it, so
    that A = L D Lᵀ holds still. The solution with zeros in those places, projected onto the range of L, is A⁺b for
    every b in the range of A: x = L (LᵀL)⁻¹ Lᵀ x₀. Where b is not, the rows that were kept hold exactly and those that
    were left out miss by what contradicts them.

    All is straight-line: no row is exchanged, and no loop depends on numbers.

    Attributes:
        lower: L, shape (n, n), with ones on the diagonal of the columns that are kept.
        pivots: what the pivots were before any was left out, shape (n,).
        kept: 1 where the pivot is kept, 0 where it is left out, shape (n,).
    """

    lower: ca.SX
    pivots: ca.SX
    kept: ca.SX

    @classmethod
    def of(cls, matrix: ca.SX, scale: ca.SX | None = None, *, tolerance: float = TOLERANCE) -> SemidefiniteLdl:
        """Factorize.

        Args:
            matrix: A, shape (n, n), positive semidefinite; only its lower triangle is read.
            scale: what each pivot is compared with, shape (n,); the diagonal of A if not given.
            tolerance: a pivot not above this share of its scale is left out, and one that small pivots before it may
                have made of rounding.

        Raises:
            ModelError: for a matrix that is not square, or a scale of another length.
        """
        n = matrix.size1()
        if matrix.size2() != n:
            raise ModelError(f"only a square matrix can be factorized, got shape {matrix.shape}")
        if scale is not None and scale.shape != (n, 1):
            raise ModelError(f"each of {n} pivots needs a scale, got shape {scale.shape}")
        lower = ca.SX.zeros(n, n)
        pivots: list[ca.SX] = []
        kept: list[ca.SX] = []
        noise: list[ca.SX] = []
        for j in range(n):
            pivot = matrix[j, j]
            for k in range(j):
                pivot = pivot - lower[j, k] ** 2 * pivots[k]
            size = matrix[j, j] if scale is None else scale[j]
            # A small pivot that is kept hands its own rounding on to later ones, L_jk² times.
            noise.append(ROUNDING * size + sum((lower[j, k] ** 2 * noise[k] for k in range(j)), ca.SX(0)))
            least = ca.fmax(tolerance * size, noise[j])
            # Of a number that is none neither comparison holds: it stays one, and is not taken for a zero pivot.
            here = ca.if_else(pivot > least, 1, ca.if_else(pivot <= least, 0, float("nan")))
            divisor = ca.if_else(pivot > least, pivot, 1)
            pivots.append(pivot)
            kept.append(here)
            lower[j, j] = here
            for i in range(j + 1, n):
                entry = matrix[i, j]
                for k in range(j):
                    entry = entry - lower[i, k] * lower[j, k] * pivots[k]
                lower[i, j] = here * (entry / divisor)
        return cls(lower, ca.vertcat(ca.SX(0, 1), *pivots), ca.vertcat(ca.SX(0, 1), *kept))

    def solve(self, right: ca.SX) -> ca.SX:
        """The least-norm x with A x = b.

        Args:
            right: b, shape (n, k).
        """
        if self.pivots.numel() == 0:
            return right
        L = self.lower
        x = L @ Ldl.of(L.T @ L + ca.diag(1 - self.kept)).solve(L.T @ self.basic(right))
        # LᵀL squares the ratio of the rows' units: what A x misses by that is solved for once more.
        return x + self.basic(right - L @ (ca.diag(self.kept * self.pivots) @ (L.T @ x)))

    def basic(self, right: ca.SX) -> ca.SX:
        """The x with A x = b that is zero in the rows that were left out.

        Args:
            right: b, shape (n, k).
        """
        n = self.pivots.numel()
        rows = [right[i, :] for i in range(n)]
        for i in range(n):
            for k in range(i):
                rows[i] = rows[i] - self.lower[i, k] * rows[k]
            # Below a column of zeros nothing is taken away, but the row's own number must not go on either.
            rows[i] = self.kept[i] * rows[i]
        rows = [rows[i] / ca.if_else(self.kept[i] == 0, 1, self.pivots[i]) for i in range(n)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                rows[i] = rows[i] - self.lower[k, i] * rows[k]
            rows[i] = self.kept[i] * rows[i]
        return ca.vertcat(ca.SX(0, right.size2()), *rows)
