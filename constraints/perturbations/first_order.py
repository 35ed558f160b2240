"""The first-order perturbation equation, for nonholonomic constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .perturbation import Deviation, Perturbation
from .step_gains import SupportsAmplification, fastest_rate, require_share


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

    @classmethod
    def for_step(cls, step: float, integrator: SupportsAmplification, *, share: float = 1.0) -> Self:
        """Return the equation whose discretised deviation contracts fastest.

        Under the classical Runge–Kutta method k = 1.5961/h, and each step multiplies a small deviation by 0.2705, the
        least that a real eigenvalue can reach. Under Euler's k = 1/h, and it vanishes after one step. Such gains
        require an acceleration k y′.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            share: the gain is multiplied by this, in (0, 1].

        Raises:
            ModelError: if the integrator chooses its own steps, or ``share`` is not in (0, 1].
        """
        return cls(require_share(share) * fastest_rate(step, integrator))
