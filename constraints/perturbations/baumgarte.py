"""Baumgarte's perturbation equation for holonomic constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .perturbation import Deviation, Perturbation
from .step_gains import SupportsAmplification, fastest_pair, require_share


@dataclass(frozen=True)
class Baumgarte(Perturbation):
    """ÿ + 2α ẏ + β² y = 0 [Baumgarte1972]_, critically damped if β is not given.

    Attributes:
        alpha: α [1/s].
        beta: β [1/s]; α if not given. In a program it is a separate parameter: a sweep that keeps the damping critical
            sets both.

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

    @classmethod
    def for_step(cls, step: float, integrator: SupportsAmplification, *, share: float = 1.0) -> Self:
        """Return the equation whose discretised deviation contracts fastest.

        Under the classical Runge–Kutta method α = 1.7294/h and β = 1.9446/h, and a small deviation vanishes after one
        step; under Euler's α = β = 1/h, and it vanishes after two. Such gains require an acceleration of 3.78 y/h²: at
        1 ms and 1 mm that is 3781 m/s², so start on the constraint, or use a smaller share.

        The fastest contraction is not the least drift. The stages of a Runge–Kutta step leave a curved constraint by
        some h² v², and gains act on that as on any deviation: on a four-bar linkage the drift grows as β² from about
        β = 4ω on, ω the rate of its crank, and is least there. With a step of 1 ms and 1 rad/s it is 7e-13 of the
        ground link for a share of 0.005, and 6e-8 for the whole; without any stabilisation 4e-9 after 10⁶ steps. To
        have both, use projection.

        Args:
            step: h [s].
            integrator: integrator with a fixed step, whose ``amplification`` the gains are chosen for.
            share: both gains are multiplied by this, in (0, 1].

        Raises:
            ModelError: if the integrator chooses its own steps, or ``share`` is not in (0, 1].
        """
        value = require_share(share) * fastest_pair(step, integrator)
        return cls(-value.real, abs(value))
