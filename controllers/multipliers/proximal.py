"""Multipliers by a fixed number of proximal steps."""

from __future__ import annotations

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ...symbolic.validation import positive, whole
from .method import MultiplierMethod, Multipliers

MOST_STEPS = 1000
"""Each step is written out."""


class ProximalMultipliers(MultiplierMethod):
    """(K + E) λ₊ = r + E λ from λ = 0, a fixed number of times, with the diagonal matrix E = ε × scale.

    No pivot is passed over and no branch taken, so that λ is a smooth function of the state wherever K is. Rows may
    depend on each other, vanish, or be more than the velocities. The steps are those of the augmented Lagrangian with
    C = E⁻¹. What is missing shrinks by ε/(κ + ε) in each for an eigenvalue κ of K relative to the scale, the square of
    the angle between rows: with the default ε and steps an angle of 1e-3 is solved to 1e-11, and at one of 1e-4 the
    status is NOT_CONVERGED and names the row. Where rows depend on each other λ goes to the
    least λᵀEλ; it is the least norm where all rows share a unit, and is independent of units where they do not.
    Rounding leaves 1e-16/ε of λ open there, and nothing of R.

    Attributes:
        epsilon: ε.
        steps: how many are taken.
    """

    supports_dependent_rows = True
    iterates = True

    def __init__(self, epsilon: float = 1e-8, steps: int = 6) -> None:
        """Fix the steps.

        Args:
            epsilon: ε > 0, relative to the largest K_jj of each constraint.
            steps: at least one.

        Raises:
            ModelError: for an ε that is not positive, or no steps.
        """
        self.epsilon = positive("epsilon", epsilon)
        self.steps = whole("steps", steps, most=MOST_STEPS, advice="take a smaller epsilon")

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """λ after the last step; its pivots are those of K + E."""
        m = right.numel()
        size = ca.diag(matrix) if scale is None else scale
        # A constraint of which all rows vanish has no scale; its multipliers stay zero with any.
        E = ca.vertcat(ca.SX(0, 1), *(self.epsilon * ca.if_else(size[i] == 0, 1, size[i]) for i in range(m)))
        factor = Ldl.of(matrix + ca.diag(E))
        lam = ca.SX.zeros(m)
        for _ in range(self.steps):
            lam = lam + factor.solve(right - matrix @ lam)
        return Multipliers(lam, factor.diagonal)
