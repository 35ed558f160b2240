"""The abstract method that finds multipliers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Solution of K λ = r.

    Attributes:
        values: λ, shape (m,).
        pivots: D of K = L D Lᵀ, shape (m,): the square of what is left of each row outside the span of the rows before
            it, in the metric of K; zero where a row depends on them or vanishes.
    """

    values: ca.SX
    pivots: ca.SX


class MultiplierMethod(ABC):
    """Way of solving K λ = r, where K = Θ M⁻¹ Θᵀ is symmetric and positive semidefinite."""

    @abstractmethod
    def solve(self, matrix: ca.SX, right: ca.SX) -> Multipliers:
        """Multipliers as expressions.

        Args:
            matrix: K, shape (m, m).
            right: r, shape (m,).
        """
