"""Proximal steps towards the least-norm multipliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import positive, whole
from ..constrained_motion import ConstrainedMotion
from .way import Case, Way

Array = NDArray[np.float64]

ENOUGH = 1e-15
"""A step that moves λ by less than this share of it is rounding."""

MOST_STEPS = 100_000


class Proximal(Way):
    """(K + εI) λ₊ = β − Θ M⁻¹Q + ε λ from λ = 0, with K = Θ M⁻¹ Θᵀ; no rank is decided and no branch is taken.

    Solved as [M −Θᵀ; Θ εI] [a; λ₊] = [Q; β + ελ], which does not need M⁻¹ and is regular if and only if [M; Θ] has full
    column rank. Each step shrinks what is missing in an eigenvector of K by ε/(κ + ε), and λ stays in the range of K:
    it goes to the least-norm solution if there is one, and without bound if rows contradict each other. The steps are
    those of the augmented Lagrangian with c = 1/ε; Pinocchio's proximal solver takes them too [Carpentier2021]_.

    Attributes:
        epsilon: ε, beside rows about one long in comparable units.
        steps: at most so many.
    """

    handles = frozenset(Case)

    def __init__(self, epsilon: float = 1e-7, steps: int = 100) -> None:
        """Fix the step.

        Args:
            epsilon: ε > 0; smaller converges in fewer steps, and loses more digits of λ where rows are dependent.
            steps: at most so many, at least one.

        Raises:
            ModelError: for an ε that is not positive, or no steps.
        """
        self.epsilon = positive("epsilon", epsilon)
        self.steps = whole("steps", steps, most=MOST_STEPS, advice="take a smaller epsilon")

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """By one factorization's worth of solves for all steps."""
        del rank
        S, theta, beta = equations.velocity_scale, equations.scaled_rows, equations.row_scale * equations.right
        m, n = theta.shape
        whole = np.block([[equations.scaled_mass, -theta.T], [theta, self.epsilon * np.eye(m)]])
        # All right sides are combinations of these columns: [Q; β] and [0; ε λ].
        particular = np.linalg.solve(whole, np.concatenate([S * equations.force, beta]))
        step = np.linalg.solve(whole, np.vstack([np.zeros((n, m)), self.epsilon * np.eye(m)]))
        x = particular
        for _ in range(self.steps):
            after = particular + step @ x[n:]
            moved = float(np.abs(after[:n] - x[:n]).max(initial=0.0))
            x = after
            if moved <= ENOUGH * float(np.abs(x[:n]).max(initial=0.0)):
                break
        return np.asarray(S * x[:n], dtype=np.float64)
