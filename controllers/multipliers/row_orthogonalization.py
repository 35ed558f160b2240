"""Orthogonalization of rows as expressions: Gram–Schmidt for dependent rows, Householder reflections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...constraints.solvability import REMAINDER

NEAREST = REMAINDER**2
"""Squared remainder of a row, relative to its scale, up to which it cannot be distinguished from a dependent one."""
NOISE = 1e-14
"""Rounding of a row as a share of its scale, before small remainders of earlier rows amplify it; chains of twenty links
have 2e-14, and 1e-13 where their mass matrix is augmented."""


@dataclass(frozen=True, eq=False)
class GramSchmidtRows:
    """Rows = C V with orthonormal rows in V, zero where a row is skipped.

    The Gram–Schmidt process is applied twice to each row, which makes V orthonormal to rounding without squaring
    condition numbers. The expressions are straight-line: no loop depends on numbers.

    Attributes:
        rows: the given rows, shape (m, n).
        basis: V, shape (m, n).
        lower: C, lower triangular with zero columns for rows that are skipped, shape (m, m).
        kept: 1 where a row is kept, 0 where it is skipped, NaN where it is NaN, shape (m,).
        left: length of the remainder of each row outside earlier kept ones, shape (m,).
        noise: possible rounding in ``left``, shape (m,), at least that of :data:`NEAREST`.
    """

    rows: ca.SX
    basis: ca.SX
    lower: ca.SX
    kept: ca.SX
    left: ca.SX
    noise: ca.SX

    @classmethod
    def of_rows(cls, rows: ca.SX, scale: ca.SX, tolerance: float | Sequence[float] = NEAREST) -> GramSchmidtRows:
        """Orthogonalize rows one after another.

        Args:
            rows: the rows, shape (m, n).
            scale: square of the length that each row is compared with, shape (m,).
            tolerance: a row is skipped if its squared remainder is not above this share of its scale, or may be
                rounding; one number for all rows, or one for each.
        """
        m = rows.size1()
        shares = list(tolerance) if isinstance(tolerance, Sequence) else [float(tolerance)] * m
        basis: list[ca.SX] = []
        lower = ca.SX.zeros(m, m)
        kept: list[ca.SX] = []
        lengths: list[ca.SX] = []
        rounding: list[ca.SX] = []
        noise: list[ca.SX] = []
        for i in range(m):
            left = rows[i, :]
            for _ in range(2):
                for j in range(i):
                    part = left @ basis[j].T
                    left = left - part * basis[j]
                    lower[i, j] = lower[i, j] + part
            square, off = ca.sumsqr(left), NOISE * ca.sqrt(scale[i])
            for j in range(i):
                # The direction of a small remainder is uncertain by its rounding over its length.
                off = off + ca.fabs(lower[i, j]) * rounding[j] / ca.if_else(kept[j] == 0, 1, lower[j, j])
            least = ca.fmax(shares[i] * scale[i], off**2)
            # Neither comparison holds for NaN: it remains NaN, and does not count as a row of zeros.
            here = ca.if_else(square > least, 1, ca.if_else(square <= least, 0, float("nan")))
            length = ca.sqrt(ca.if_else(square > least, square, 1))
            basis.append(here * (left / length))
            lower[i, i] = here * length
            kept.append(here)
            lengths.append(ca.sqrt(square))
            rounding.append(off)
            noise.append(ca.fmax(ca.sqrt(NEAREST * scale[i]), off))
        empty = ca.SX(0, 1)
        parts = (ca.vertcat(empty, *each) for each in (kept, lengths, noise))
        return cls(rows, ca.vertcat(ca.SX(0, rows.size2()), *basis), lower, *parts)

    def remaining(self, right: ca.SX) -> ca.SX:
        """Return the remainder of each entry when earlier kept rows are satisfied: C_ii y_i of a kept row.

        Args:
            right: b, shape (m,).
        """
        found: list[ca.SX] = []
        values: list[ca.SX] = []
        for i in range(right.numel()):
            value = right[i]
            for k in range(i):
                value = value - self.lower[i, k] * found[k]
            values.append(value)
            found.append(self.kept[i] * value / self._divisor(i))
        return ca.vertcat(ca.SX(0, 1), *values)

    def along(self, right: ca.SX) -> ca.SX:
        """Return y with C y = b in the kept rows; zero in the others.

        Args:
            right: b, shape (m,).
        """
        values = self.remaining(right)
        found = [self.kept[i] * values[i] / self._divisor(i) for i in range(right.numel())]
        return ca.vertcat(ca.SX(0, 1), *found)

    def weights(self, along: ca.SX, first: int, last: int) -> ca.SX:
        """Return the least-norm λ of the rows from ``first`` to ``last`` − 1 with Cᵀλ = y among them.

        Args:
            along: y, shape (last − first,).
            first: index of the first row, from 0.
            last: index after the last row.
        """
        if first == last:
            return ca.SX(0, 1)
        places = range(first, last)
        found = self._backward([along[i - first] for i in places], first, last)
        # Vectors that can be added to λ without effect, one for each skipped row: its combination of the others.
        # Condition numbers are not squared, as they would be by CᵀC.
        relations: list[ca.SX] = []
        for i in places:
            own = [self.lower[i, j] if j < i else ca.SX(0) for j in places]
            relation = (1 - self.kept[i]) * -ca.vertcat(*self._backward(own, first, last))
            relation[i - first] = 1 - self.kept[i]
            for _ in range(2):
                for other in relations:
                    relation = relation - other * ca.dot(other, relation)
            square = ca.sumsqr(relation)
            relations.append(relation / ca.sqrt(ca.if_else(square > 0, square, 1)))
        least = ca.vertcat(*found)
        for relation in relations:
            least = least - relation * ca.dot(relation, least)
        return least

    def _backward(self, right: list[ca.SX], first: int, last: int) -> list[ca.SX]:
        """Return λ with Cᵀλ = y among some rows, zero in skipped ones."""
        found = list(right)
        for i in reversed(range(len(found))):
            for k in range(i + 1, len(found)):
                found[i] = found[i] - self.lower[first + k, first + i] * found[k]
            found[i] = self.kept[first + i] * found[i] / self._divisor(first + i)
        return found

    def _divisor(self, i: int) -> ca.SX:
        return ca.if_else(self.kept[i] == 0, 1, self.lower[i, i])


@dataclass(frozen=True, eq=False)
class HouseholderRows:
    """Independent rows reduced to a lower triangle by reflections, one for each row.

    With a unit row γ = [γ₀, γ*] the matrix of [Larin1993]_ eq. (3.2), V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], is the
    reflection E − g gᵀ/(1 + γ₀) with g = γ + e₀, less its first column; the printed one has γ for γ*. The sign of a row
    is reversed where γ₀ < 0, since orthogonality is lost like 6e-16/(1 + γ₀). A basis V₂ jumps where that happens, but
    results computed with it do not. :class:`~erugin.constraints.null_space.Reflections` is the same for arrays.

    Attributes:
        lower: L, shape (m, m).
        remainders: squared remainder of each row outside earlier ones, L_ii², shape (m,).
        vectors: g of each reflection, the i-th of shape (n − i,), and 1 + γ₀.
    """

    lower: ca.SX
    remainders: ca.SX
    vectors: tuple[tuple[ca.SX, ca.SX], ...]

    @classmethod
    def of_rows(cls, rows: ca.SX) -> HouseholderRows:
        """Reduce rows one after another.

        Args:
            rows: independent rows, shape (m, n) with m ≤ n; numbers after a row that vanishes are NaN.
        """
        m = rows.size1()
        lower = ca.SX.zeros(m, m)
        squares: list[ca.SX] = []
        vectors: list[tuple[ca.SX, ca.SX]] = []
        rest = rows.T
        for i in range(m):
            # Columns are the remaining rows in the remaining space.
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
        """Return Vᵀ x: first the m rows of V₁ᵀ x, then V₂ᵀ x.

        Args:
            x: vectors, shape (n, columns).
        """
        for i, (g, pivot) in enumerate(self.vectors):
            left = x[i:, :]
            left = left - (g / pivot) @ (g.T @ left)
            x = ca.vertcat(x[:i, :], left) if i else left
        return x

    def back(self, y: ca.SX) -> ca.SX:
        """Return V y, for y = [y₁; y₂] with y₁ along the rows.

        Args:
            y: coordinates, shape (n, columns).
        """
        for i, (g, pivot) in reversed(list(enumerate(self.vectors))):
            left = y[i:, :]
            left = left - (g / pivot) @ (g.T @ left)
            y = ca.vertcat(y[:i, :], left) if i else left
        return y

    def along(self, right: ca.SX) -> ca.SX:
        """Return y₁ = L⁻¹ b: coordinates along the rows of an x that satisfies rows x = b.

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
        """Return λ = L⁻ᵀ y₁, for which rowsᵀ λ = V₁ y₁.

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
