"""Multipliers by an LDLᵀ factorization, for independent rows."""

from __future__ import annotations

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from .method import MultiplierMethod, Multipliers


class LdlMultipliers(MultiplierMethod):
    """K = L D Lᵀ without pivoting; exact for independent rows, undefined for dependent ones, which the pivots show."""

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Return λ = L⁻ᵀ D⁻¹ L⁻¹ r."""
        del scale
        factor = Ldl.of(matrix)
        return Multipliers(factor.solve(right), factor.certain_pivots(matrix))
