"""Baumgarte's equation with gains chosen for the accuracy that a simple method keeps over the whole motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import not_negative, positive
from .perturbation import Certificate, Deviation, Perturbation, lyapunov_matrix
from .step_gains import SupportsAmplification, require_amplification

NEGLIGIBLE = 1e-16


@dataclass(frozen=True)
class Deressa(Perturbation):
    """ÿ + 2α ẏ + β² y = 0 whose deviation stays bounded when Euler's explicit method integrates it with the step h.

    From the available text of [Deressa2015]_ (introduction; (1.13) is Baumgarte's equation): the modification uses
    variables that measure the deviations from the constraints, and builds for them equations that are both
    asymptotically stable and bounded in the numerical solution of the equations of motion, so that comparatively
    simple methods keep a given accuracy over the whole time. Its chapter 2, which states them, was not available.

    The form of the two conditions here is our own. One step of Euler's method maps x = (y, h ẏ) to G x + d, with
    G = [[1, 1], [−h²β², 1 − 2hα]] and d the local error of the step. So

    1. asymptotic stability: α > 0, β > 0;
    2. stability of the scheme: |eigenvalues of G| < 1, that is hβ² < 2α and 4hα < 4 + h²β²;
    3. boundedness: with local errors |d₁| ≤ δ, |d₂| ≤ h δ′, a deviation that started at zero never exceeds
       Σⱼ (|Gʲ₁₁| δ + |Gʲ₁₂| h δ′), see :meth:`bound`; the worst sequence of errors reaches it.

    Attributes:
        step: h [s], a number, not a gain.
        alpha: α [1/s]; 1/h if not given, for which a deviation vanishes after two steps.
        beta: β [1/s]; α if not given.

    Raises:
        ModelError: if condition 1 or 2 does not hold.
    """

    step: float = 1e-3
    alpha: float | None = None
    beta: float | None = None

    order = 0

    def __post_init__(self) -> None:
        """Refuse gains that are unstable, in themselves or with this step."""
        positive("step", self.step)
        self.stable_eigenvalues()
        radius = self._radius()
        if not radius < 1.0 - 1e-12:
            alpha, beta = self.gains["alpha"], self.gains["beta"]
            longest = 2 * alpha / beta**2 if alpha <= beta else 2 / (alpha + (alpha**2 - beta**2) ** 0.5)
            raise ModelError(
                f"{self} is unstable in the numerical solution: Euler's method multiplies its deviation by "
                f"{radius:.4g} per step; the step must be below {longest:.4g} s for these gains"
            )

    @property
    def gains(self) -> Mapping[str, float]:
        """α and β."""
        alpha = 1.0 / self.step if self.alpha is None else self.alpha
        return {"alpha": alpha, "beta": alpha if self.beta is None else self.beta}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        """ÿ = −2α ẏ − β² y."""
        return -2 * gains["alpha"] * deviation.rate - gains["beta"] ** 2 * deviation.value

    def step_matrix(self) -> NDArray[np.float64]:
        """G, which maps (y, h ẏ) to its value after one step, shape (2, 2)."""
        h, alpha, beta = self.step, self.gains["alpha"], self.gains["beta"]
        return np.array([[1.0, 1.0], [-((h * beta) ** 2), 1.0 - 2.0 * h * alpha]])

    def bound(self, error: float, rate_error: float = 0.0) -> float:
        """Largest |y| that local errors can add up to, over any number of steps.

        Euler's own local error in φ(q) is ½h² |vᵀ φ_qq v| to the first order, that in φ̇ is h² |d²φ̇/dt²|/2.

        Args:
            error: δ, of y in one step, in its unit.
            rate_error: δ′, of ẏ in one step.

        Raises:
            ModelError: if one of them is negative.
        """
        first, second = not_negative("error", error), self.step * not_negative("rate_error", rate_error)
        (_, _), (pull, keep) = self.step_matrix().tolist()
        enough = NEGLIGIBLE * (1.0 - self._radius())
        # The first row of Gʲ: it grows at first, then falls like the spectral radius to the power j.
        a, b, total_a, total_b = 1.0, 0.0, 0.0, 0.0
        while abs(a) + abs(b) > enough * (total_a + total_b):
            total_a, total_b = total_a + abs(a), total_b + abs(b)
            a, b = a + b * pull, a + b * keep
        return total_a * first + total_b * second

    def certificate(self) -> Certificate:
        """Eigenvalues and P of the equation; the stability of its numerical solution was checked at construction."""
        eigenvalues = self.stable_eigenvalues()
        return Certificate(eigenvalues, float(-eigenvalues.real.max()), lyapunov_matrix(self.state_matrix()))

    @classmethod
    def for_accuracy(cls, step: float, accuracy: float, *, error: float, rate_error: float = 0.0) -> Self:
        """Return the critically damped equation with the least gains that keeps |y| ≤ accuracy despite local errors.

        Args:
            step: h [s].
            accuracy: largest |y| allowed, in its unit.
            error: δ, the local error of y in one step.
            rate_error: δ′, that of ẏ.

        Raises:
            ModelError: if no gains keep it; the message states the best bound.
        """
        h, goal = positive("step", step), positive("accuracy", accuracy)
        first, second = not_negative("error", error), h * not_negative("rate_error", rate_error)
        if first + second == 0.0:
            raise ModelError("without local errors any gains keep the accuracy: give error= or rate_error= above zero")
        # With α = β the sums of the bound are geometric: 2δ/(hα) + h δ′/(hα)², where hα ≤ 1.
        product = (first + (first**2 + goal * second) ** 0.5) / goal
        if product > 1.0:
            raise ModelError(
                f"no gains keep |y| ≤ {goal:g} with a step of {h:g} s and local errors {error:g} and {rate_error:g}: "
                f"the best bound is {2 * first + second:.4g}, with α = β = 1/h; use a shorter step"
            )
        return cls(h, product / h)

    @classmethod
    def for_step(cls, step: float, integrator: SupportsAmplification) -> Self:
        """Return the equation with α = β = 1/h, for integrators that multiply a solution as Euler's explicit method.

        Args:
            step: h [s].
            integrator: integrator with |R(z)| = |1 + z|.

        Raises:
            ModelError: for another integrator.
        """
        h = positive("step", step)
        require_amplification(integrator)
        for z in (-1 + 0j, -0.5 + 0.5j, -1.5 - 0.25j):
            if abs(integrator.amplification(z) - abs(1 + z)) > 1e-9:
                raise ModelError(
                    f"Deressa requires Euler's explicit method, |R(z)| = |1 + z|, but {type(integrator).__name__} has "
                    f"|R({z})| = {integrator.amplification(z):.4g}; use Baumgarte.for_step"
                )
        return cls(h)

    def _radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.step_matrix())).max())
