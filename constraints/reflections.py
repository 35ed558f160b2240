"""Larin's product of one-row reflections, V₂ = V₂₁ V₂₂ … V₂ₘ, without forming any of its factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reflections:
    """Orthogonal V = [V₁ V₂] whose first columns span some rows, as a product of reflections.

    With a unit row γ = [γ₀, γ*] and γ₀ ≥ 0, the matrix of [Larin1993]_ eq. (3.2),
    V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], is the reflection E − g gᵀ/(1 + γ₀) with g = γ + e₀, less its first column. So the
    product costs as much as a triangularization: it is applied, not multiplied out.

    Attributes:
        n: length of the rows.
        vectors: g of each reflection, the i-th of length n − i, and 1 + γ₀.
        remainders: what earlier rows left of each row, as a share of its length, shape (m,); zero for a zero row.
    """

    n: int
    vectors: tuple[tuple[Array, float], ...]
    remainders: Array

    @classmethod
    def of_rows(cls, rows: Array, tolerance: float) -> Reflections:
        """Reduce rows one after another.

        A row of which earlier ones leave no more than ``tolerance`` depends on them: it is passed over, where the
        printed recurrence divides rounding errors by their length and loses a true degree of freedom. The sign of a
        row is turned over whenever γ₀ < 0, since orthogonality is lost like 6e-16/(1 + γ₀).

        Args:
            rows: each of length one, or zero, shape (m, n).
            tolerance: share of its length below which a row counts as dependent.
        """
        m, n = rows.shape
        rest = rows.copy()
        vectors: list[tuple[Array, float]] = []
        remainders = np.zeros(m)
        for i in range(m):
            row = rest[i]
            length = remainders[i] = float(np.sqrt(row @ row))
            if length <= tolerance or len(row) == 0:
                continue
            gamma = row / (length if row[0] >= 0.0 else -length)
            gamma[0] += 1.0
            pivot = float(gamma[0])
            below = rest[i + 1 :]
            # D_i V₂: the reflection of each row that is left, less its first element.
            below -= np.multiply.outer(below @ gamma, gamma / pivot)
            rest = rest[:, 1:]
            vectors.append((gamma, pivot))
        return cls(n, tuple(vectors), remainders)

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return len(self.vectors)

    def columns(self, first: int, last: int) -> Array:
        """Columns ``first`` … ``last`` − 1 of V; V₁ has the numbers below the rank, V₂ the others.

        Args:
            first: number of the first column.
            last: one more than that of the last.
        """
        block = np.eye(self.n)[:, first:last].copy()
        for i in reversed(range(self.rank)):
            gamma, pivot = self.vectors[i]
            trailing = block[i:]
            trailing -= np.multiply.outer(gamma / pivot, gamma @ trailing)
        return block


def recurrent_operations(m: int, n: int, rank: int) -> int:
    """Multiplications and divisions that V₂ of m rows takes by the recurrence, independent rows first.

    The normalization of m rows takes 2n each. Row i finds its length and divides (2(n − i) and a root), scales g, and
    reduces the rows below, 2(n − i) each. V₂ is n − rank columns through all reflections, 2(n − i) each, and one more
    scaling of g.

    Args:
        m: number of rows.
        n: length of the rows.
        rank: how many are independent.
    """
    reduction = sum(3 * (n - i) + 2 * (n - i) * (m - i - 1) for i in range(rank))
    columns = sum((n - i) + 2 * (n - i) * (n - rank) for i in range(rank))
    return 2 * m * n + reduction + columns + (m - rank) * max(n - rank, 0)
