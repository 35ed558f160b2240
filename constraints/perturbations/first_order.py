"""The first-order perturbation equation, for nonholonomic constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .perturbation import Deviation, Perturbation


@dataclass(frozen=True)
class FirstOrder(Perturbation):
    """ẏ′ + k y′ = 0: the deviation decays as exp(−k t), as with the energies 2T = y′², 2D = k y′² of Matukhina.

    Attributes:
        rate: k [1/s].

    Raises:
        ModelError: if the equation is not asymptotically stable.
    """

    rate: float = 10.0

    order = 1

    def __post_init__(self) -> None:
        """Refuse an unstable gain."""
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """k."""
        return {"rate": self.rate}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ẏ′ = −k y′."""
        return -gains["rate"] * deviation.value

    def state_matrix(self) -> NDArray[np.float64]:
        """The scalar −k."""
        return np.array([[-self.rate]])
