"""Least-norm multipliers for dependent rows."""

from __future__ import annotations

import casadi as ca

from ...symbolic.linear_algebra import PIVOT_TOLERANCE, SemidefiniteLdl
from ...symbolic.validation import positive
from .method import MultiplierMethod, Multipliers
from .row_orthogonalization import NEAREST, GramSchmidtRows


class LeastNormMultipliers(MultiplierMethod):
    """λ = K⁺ r: of all multipliers that realise the program those of least |λ|, [Deressa2015]_ (1.21)–(1.23).

    Rows may depend on each other, vanish, or be more than the velocities. The rows in the metric M⁻¹, H with K = H Hᵀ,
    are made orthonormal one after another, H = C V, and those of which nothing is left are passed over: the others hold
    exactly, and these because they follow from them. Where they contradict them instead, a status says which and by how
    much. Nothing is squared on the way, so that rows at an angle δ are told apart down to δ = 1e-11, and a has an error
    of about 1e-15/δ. R = Θᵀλ and the motion are unique even where λ is not. Both jump where a row is passed over, as at
    a singular position: there it says nothing any more, and the acceleration is in general not that of the branch.

    |λ|² adds up numbers in the units that the rows have, such as N² and (N m)².

    Attributes:
        tolerance: a row is passed over when the square of what is left of it outside the rows before it, relative to
            the largest row of its constraint, is not above this. If that is more than rounding, it must be met
            nevertheless, or its status is not OK.
    """

    supports_dependent_rows = True

    def __init__(self, tolerance: float = NEAREST) -> None:
        """Fix the tolerance.

        Args:
            tolerance: of the square of what is left.

        Raises:
            ModelError: if it is not positive.
        """
        self.tolerance = positive("tolerance", tolerance)

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """λ = L (LᵀL)⁻¹ Lᵀ λ₀ with K = L D Lᵀ, and λ₀ zero in the rows that were left out; K shows half the digits."""
        factor = SemidefiniteLdl.of(matrix, scale, tolerance=max(self.tolerance, PIVOT_TOLERANCE))
        return Multipliers(factor.solve(right), factor.pivots)

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """Least-norm λ with Cᵀλ = C⁻¹ r."""
        del matrix, scale
        return Multipliers(rows.weights(rows.along(right), 0, right.numel()), rows.left**2)
