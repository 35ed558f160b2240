"""No perturbation: a constraint on accelerations holds algebraically."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .perturbation import Deviation, Perturbation


@dataclass(frozen=True)
class Exact(Perturbation):
    """z = 0 for constraints of order 2: there is no state that could deviate, so there is nothing to stabilise."""

    order = 2

    @property
    def gains(self) -> Mapping[str, float]:
        """No gains."""
        return {}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """The algebraic z = 0."""
        return ca.SX.zeros(deviation.value.numel())

    def state_matrix(self) -> NDArray[np.float64]:
        """Empty: no state."""
        return np.zeros((0, 0))
