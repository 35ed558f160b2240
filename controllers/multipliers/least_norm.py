"""Least-norm multipliers by a factorization that passes over zero pivots."""

from __future__ import annotations

import casadi as ca

from ...symbolic.arrays import positive
from ...symbolic.semidefinite import TOLERANCE, SemidefiniteLdl
from .multipliers import MultiplierMethod, Multipliers, judged


class LeastNormMultipliers(MultiplierMethod):
    """λ = K⁺ r: of all multipliers that realise the program those of least |λ|, [Deressa2015]_ (1.21)–(1.23).

    Rows may depend on each other, vanish, or be more than the velocities. K = L D Lᵀ with the columns of zero pivots
    left out, so that the rows that were kept hold exactly and the others because they follow from them; where they
    contradict them instead, ``holds`` says which and ``misses`` by how much. R = Θᵀλ and the motion are unique even
    where λ is not. Both jump where a pivot passes the tolerance, as at a singular position: there a row that is left
    out says nothing any more, and the acceleration is in general not that of the branch.

    |λ|² adds up numbers in the units that the rows have, such as N² and (N m)².

    Attributes:
        tolerance: a row is left out when the square of what is left of it outside the rows before it, relative to the
            largest row of its constraint, is not above this.
    """

    handles_dependence = True

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        """Fix the tolerance.

        Args:
            tolerance: of a relative pivot.

        Raises:
            ModelError: if it is not positive.
        """
        self.tolerance = positive("tolerance", tolerance)

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """λ = L (LᵀL)⁻¹ Lᵀ λ₀, with λ₀ zero in the rows that were left out."""
        factor = SemidefiniteLdl.of(matrix, scale, tolerance=self.tolerance)
        return judged(matrix, right, factor.solve(right), factor.pivots)
