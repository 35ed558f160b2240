"""Multipliers by a fixed number of proximal steps."""

from __future__ import annotations

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ...symbolic.validation import positive, whole
from .method import MultiplierMethod, Multipliers

MOST_STEPS = 1000
"""Largest number of steps, each of which is unrolled into the expressions."""


class ProximalMultipliers(MultiplierMethod):
    """(K + E) λ₊ = r + E λ from λ = 0, a fixed number of times, with the diagonal matrix E = ε × scale.

    No pivot is skipped and there is no branching, so that λ is a smooth function of the state wherever K is. Rows may
    depend on each other, vanish, or be more than the velocities. The steps are those of the augmented Lagrangian with
    C = E⁻¹. Each reduces the error by ε/(κ + ε) for an eigenvalue κ of K relative to the scale, the square of the angle
    between rows: with the default ε and steps an angle of 1e-3 is solved to 1e-11, and at one of 1e-4 the status is
    NOT_CONVERGED and the message names the row. Where rows depend on each other λ tends to the least λᵀEλ; that is the
    least norm where all rows share a unit, and is independent of units where they do not. Rounding then causes an error
    of 1e-16/ε in λ, but none in R.

    Attributes:
        epsilon: ε.
        steps: number of steps.
    """

    supports_dependent_rows = True
    iterates = True

    def __init__(self, epsilon: float = 1e-8, steps: int = 6) -> None:
        """Fix ε and the number of steps.

        Args:
            epsilon: ε > 0, relative to the largest K_jj of each constraint.
            steps: number of steps, at least one.

        Raises:
            ModelError: for an ε that is not positive, or a number of steps below one.
        """
        self.epsilon = positive("epsilon", epsilon)
        self.steps = whole("steps", steps, most=MOST_STEPS, advice="use a smaller epsilon")

    def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
        """Return λ after the last step, with the pivots of K + E."""
        m = right.numel()
        size = ca.diag(matrix) if scale is None else scale
        # A constraint whose rows all vanish has no scale; its multipliers remain zero with any scale.
        E = ca.vertcat(ca.SX(0, 1), *(self.epsilon * ca.if_else(size[i] == 0, 1, size[i]) for i in range(m)))
        factor = Ldl.of(matrix + ca.diag(E))
        lam = ca.SX.zeros(m)
        for _ in range(self.steps):
            lam = lam + factor.solve(right - matrix @ lam)
        return Multipliers(lam, factor.diagonal)
