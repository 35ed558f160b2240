"""Least-norm multipliers for dependent rows."""

from __future__ import annotations

import casadi as ca

from ...symbolic.linear_algebra import PIVOT_TOLERANCE, SemidefiniteLdl
from ...symbolic.validation import positive
from .method import MultiplierMethod, Multipliers
from .row_orthogonalization import NEAREST, GramSchmidtRows


class LeastNormMultipliers(MultiplierMethod):
    """λ = K⁺ r: the multipliers of least |λ| of all that realise the program, [Deressa2015]_ (1.21)–(1.23).

    Rows may depend on each other, vanish, or be more than the velocities. The rows in the metric M⁻¹, H with K = H Hᵀ,
    are orthonormalized one after another, H = C V, and rows without remainder are skipped: the others hold exactly, and
    the skipped ones follow from them. If a skipped row contradicts them, the status names it and the residual.
    Condition numbers are not squared, so that rows at an angle δ are distinguished down to δ = 1e-11, and a has an
    error of about 1e-15/δ. R = Θᵀλ and the motion are unique even where λ is not. Both jump where a row is skipped, as
    at a singular position: there the row has no effect, and the acceleration is in general not that of the branch.

    |λ|² adds numbers in the units of the rows, such as N² and (N m)².

    Attributes:
        tolerance: a row is skipped when its squared remainder outside earlier rows, relative to the largest row of its
            constraint, is not above this. If the remainder is more than rounding, the row must still be satisfied, or
            the status is not OK.
    """

    supports_dependent_rows = True

    def __init__(self, tolerance: float = NEAREST) -> None:
        """Fix the tolerance.

        Args:
            tolerance: relative squared remainder up to which a row is skipped.

        Raises:
            ModelError: if it is not positive.
        """
        self.tolerance = positive("tolerance", tolerance)

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Return λ = L (LᵀL)⁻¹ Lᵀ λ₀ with K = L D Lᵀ, and λ₀ zero in skipped rows; K has half the accuracy."""
        factor = SemidefiniteLdl.of(matrix, scale, tolerance=max(self.tolerance, PIVOT_TOLERANCE))
        return Multipliers(factor.solve(right), factor.pivots)

    def solve_rows(self, rows: GramSchmidtRows, matrix: ca.SX, right: ca.SX, scale: ca.SX) -> Multipliers:
        """Return the least-norm λ with Cᵀλ = C⁻¹ r."""
        del matrix, scale
        return Multipliers(rows.weights(rows.along(right), 0, right.numel()), rows.left**2)
