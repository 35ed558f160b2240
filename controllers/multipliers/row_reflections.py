"""Larin's one-row reflections as expressions: rows = L V₁ᵀ with V = [V₁ V₂] orthogonal, never multiplied out."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class RowReflections:
    """Independent rows brought to a lower triangle by reflections, one for each row.

    With a unit row γ = [γ₀, γ*] the matrix of [Larin1993]_ eq. (3.2), V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], is the
    reflection E − g gᵀ/(1 + γ₀) with g = γ + e₀, less its first column; the printed one has γ for γ*. The sign of a row
    is turned over where γ₀ < 0, since orthogonality is lost like 6e-16/(1 + γ₀). A basis V₂ jumps where that happens;
    what is computed by it does not. :class:`~erugin.constraints.reflections.Reflections` is the same for arrays.

    Attributes:
        lower: L, shape (m, m).
        remainders: square of what the rows before leave of each, L_ii², shape (m,).
        vectors: g of each reflection, the i-th of shape (n − i,), and 1 + γ₀.
    """

    lower: ca.SX
    remainders: ca.SX
    vectors: tuple[tuple[ca.SX, ca.SX], ...]

    @classmethod
    def of_rows(cls, rows: ca.SX) -> RowReflections:
        """Reduce rows one after another.

        Args:
            rows: independent, shape (m, n) with m ≤ n; numbers behind a row that vanishes are none.
        """
        m = rows.size1()
        lower = ca.SX.zeros(m, m)
        squares: list[ca.SX] = []
        vectors: list[tuple[ca.SX, ca.SX]] = []
        rest = rows.T
        for i in range(m):
            # Columns are the rows that are left, in what the reflections before have left of the space.
            row = rest[:, 0]
            square = ca.sumsqr(row)
            signed = ca.if_else(row[0] >= 0, 1, -1) * ca.sqrt(square)
            g = row / signed
            pivot = 1 + g[0]
            g[0] = pivot
            below = rest[:, 1:]
            if below.numel():
                below = below - (g / pivot) @ (g.T @ below)
            lower[i, i] = -signed
            for k in range(m - i - 1):
                lower[i + 1 + k, i] = below[0, k]
            squares.append(square)
            vectors.append((g, pivot))
            rest = below[1:, :] if below.numel() else below
        return cls(lower, ca.vertcat(ca.SX(0, 1), *squares), tuple(vectors))

    def turned(self, x: ca.SX) -> ca.SX:
        """Vᵀ x: first V₁ᵀ x, m rows of it, then V₂ᵀ x.

        Args:
            x: shape (n, columns).
        """
        for i, (g, pivot) in enumerate(self.vectors):
            left = x[i:, :]
            left = left - (g / pivot) @ (g.T @ left)
            x = ca.vertcat(x[:i, :], left) if i else left
        return x

    def back(self, y: ca.SX) -> ca.SX:
        """V y, for y = [y₁; y₂] with y₁ along the rows.

        Args:
            y: shape (n, columns).
        """
        for i, (g, pivot) in reversed(list(enumerate(self.vectors))):
            left = y[i:, :]
            left = left - (g / pivot) @ (g.T @ left)
            y = ca.vertcat(y[:i, :], left) if i else left
        return y

    def along(self, right: ca.SX) -> ca.SX:
        """y₁ = L⁻¹ b: coordinates along the rows of what satisfies rows x = b.

        Args:
            right: b, shape (m,).
        """
        found: list[ca.SX] = []
        for i in range(right.numel()):
            value = right[i]
            for k in range(i):
                value = value - self.lower[i, k] * found[k]
            found.append(value / self.lower[i, i])
        return ca.vertcat(ca.SX(0, 1), *found)

    def weights(self, along: ca.SX) -> ca.SX:
        """λ = L⁻ᵀ y₁: with them rowsᵀ λ = V₁ y₁.

        Args:
            along: y₁, shape (m,).
        """
        m = along.numel()
        found = [ca.SX(0)] * m
        for i in reversed(range(m)):
            value = along[i]
            for k in range(i + 1, m):
                value = value - self.lower[k, i] * found[k]
            found[i] = value / self.lower[i, i]
        return ca.vertcat(ca.SX(0, 1), *found)
