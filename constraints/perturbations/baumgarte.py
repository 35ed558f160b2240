"""Baumgarte's perturbation equation for holonomic constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .perturbation import Deviation, Perturbation


@dataclass(frozen=True)
class Baumgarte(Perturbation):
    """ÿ + 2α ẏ + β² y = 0 [Baumgarte1972]_, critically damped when β is left out.

    Attributes:
        alpha: α [1/s].
        beta: β [1/s]; α if not given. In a program it is a parameter of its own: a sweep that keeps the damping
            critical sets both.

    Raises:
        ModelError: if the equation is not asymptotically stable.
    """

    alpha: float = 10.0
    beta: float | None = None

    order = 0

    def __post_init__(self) -> None:
        """Refuse unstable gains."""
        self.stable_eigenvalues()

    @property
    def gains(self) -> Mapping[str, float]:
        """α and β."""
        return {"alpha": self.alpha, "beta": self.alpha if self.beta is None else self.beta}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ = −2α ẏ − β² y."""
        return -2 * gains["alpha"] * deviation.rate - gains["beta"] ** 2 * deviation.value

    def state_matrix(self) -> NDArray[np.float64]:
        """Companion matrix of the equation."""
        alpha, beta = self.gains["alpha"], self.gains["beta"]
        return np.array([[0.0, 1.0], [-(beta**2), -2.0 * alpha]])
