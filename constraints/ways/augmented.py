"""The mass matrix augmented by the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import positive
from ..constrained_motion import ConstrainedMotion
from .least_norm import least_change
from .way import Case, Way

Array = NDArray[np.float64]


class Augmented(Way):
    """M + c ΘᵀΘ in place of M and Q + c Θᵀβ in place of Q, then as if M had been regular.

    What is added, c Θᵀ(Θ a − β), vanishes along the motion, so that neither a nor λ changes. The new matrix is positive
    definite if and only if [M; Θ] has full column rank, so that M may be singular. Θ is measured in comparable units,
    with rows about one long, and M too, so that c = 1 adds as much as there is.

    Attributes:
        weight: c.
    """

    handles = frozenset(Case)

    def __init__(self, weight: float = 1.0) -> None:
        """Fix the weight.

        Args:
            weight: c > 0; any gives the same motion, one near 1 the best conditioned matrix.

        Raises:
            ModelError: for a weight that is not positive.
        """
        self.weight = positive("weight", weight)

    def motion(self, equations: ConstrainedMotion, rank: int) -> Array:
        """As :class:`LeastNorm` with the augmented matrix."""
        S, theta, beta = equations.velocity_scale, equations.scaled_rows, equations.row_scale * equations.right
        M = equations.scaled_mass + self.weight * theta.T @ theta
        Q = S * equations.force + self.weight * theta.T @ beta
        return S * least_change(M, Q, theta, beta, rank)
