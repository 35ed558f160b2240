"""Rows made orthonormal one after another, with those that depend on the ones before passed over."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ...symbolic.ldl import Ldl


@dataclass(frozen=True, eq=False)
class RowBasis:
    """Rows = C V with orthonormal rows in V, zero where a row of the given ones is passed over.

    Gram and Schmidt's process, gone through twice for each row, which leaves V orthonormal to rounding and squares
    nothing. All is straight-line: no loop depends on numbers.

    Attributes:
        basis: V, shape (m, n).
        lower: C, lower triangular with zero columns for rows that were passed over, shape (m, m).
        kept: 1 where a row is kept, 0 where it is passed over, NaN where it is no number, shape (m,).
    """

    basis: ca.SX
    lower: ca.SX
    kept: ca.SX

    @classmethod
    def of_rows(cls, rows: ca.SX, scale: ca.SX, tolerance: float) -> RowBasis:
        """Take rows one after another.

        Args:
            rows: any, shape (m, n).
            scale: square of what each row is compared with, shape (m,).
            tolerance: a row is passed over if the square of what is left of it is not above this share of its scale.
        """
        m = rows.size1()
        basis: list[ca.SX] = []
        lower = ca.SX.zeros(m, m)
        kept: list[ca.SX] = []
        for i in range(m):
            left = rows[i, :]
            for _ in range(2):
                for j in range(i):
                    part = left @ basis[j].T
                    left = left - part * basis[j]
                    lower[i, j] = lower[i, j] + part
            square = ca.sumsqr(left)
            least = tolerance * scale[i]
            # Of a number that is none neither comparison holds: it stays one, and is not taken for a row of zeros.
            here = ca.if_else(square > least, 1, ca.if_else(square <= least, 0, float("nan")))
            length = ca.sqrt(ca.if_else(square > least, square, 1))
            basis.append(here * (left / length))
            lower[i, i] = here * length
            kept.append(here)
        return cls(ca.vertcat(ca.SX(0, rows.size2()), *basis), lower, ca.vertcat(ca.SX(0, 1), *kept))

    def along(self, right: ca.SX) -> ca.SX:
        """y with C y = b in the rows that were kept; zero in the others.

        Args:
            right: b, shape (m,).
        """
        found: list[ca.SX] = []
        for i in range(right.numel()):
            value = right[i]
            for k in range(i):
                value = value - self.lower[i, k] * found[k]
            found.append(self.kept[i] * value / self._divisor(i))
        return ca.vertcat(ca.SX(0, 1), *found)

    def weights(self, along: ca.SX, first: int, last: int) -> ca.SX:
        """Least-norm λ of the rows from ``first`` to ``last`` − 1 with Cᵀλ = y among them.

        Args:
            along: y, shape (last − first,).
            first: number of the first row.
            last: one more than that of the last.
        """
        if first == last:
            return ca.SX(0, 1)
        C, kept = self.lower[first:last, first:last], self.kept[first:last, :]
        least = C @ Ldl.of(C.T @ C + ca.diag(1 - kept)).solve(kept * along)
        # CᵀC squares the ratio of the rows' lengths: what is missed by that is solved for once more.
        missed = kept * along - C.T @ least
        count = last - first
        more = [ca.SX(0)] * count
        for i in reversed(range(count)):
            value = missed[i]
            for k in range(i + 1, count):
                value = value - C[k, i] * more[k]
            more[i] = kept[i] * value / self._divisor(first + i)
        return least + ca.vertcat(*more)

    def _divisor(self, i: int) -> ca.SX:
        return ca.if_else(self.kept[i] == 0, 1, self.lower[i, i])
