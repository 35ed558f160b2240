"""The Legendre transform by minimal residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError, NotConvergedError
from .legendre_solver import LegendreSolution, LegendreSolver, checked, require_energy, residual
from .operations import Operations
from .quadratic_form import QuadraticForm

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MinimalResiduals(LegendreSolver):
    """ξ_{m+1} = ξ_m − γ_m y_m with y_m = A ξ_m − b, the γ_m that makes ‖y_{m+1}‖ least: γ_m = (A y, y)/(A y, A y).

    [DunskayaPyatnitsky1996]_ eqs. (3.3), (3.4), corrected: ξ₀ is the start, a guess of the velocities, and γ̄ bounds
    every γ_m from above. The residual falls at least by the factor (κ − 1)/(κ + 1) in each step, κ the condition number
    of A, so that each digit takes at most about κ steps.

    It stops at ‖y_m‖ ≤ ε/γ̄, and then ‖ξ_{m+1} − ξ_m‖ ≤ ε. All γ_m lie between 1/λ_max and 1/λ_min, the eigenvalues of
    A. With γ̄ = 1/λ_min the same condition bounds the error itself: ‖ξ_m − z*‖ ≤ ε; a smaller γ̄ does not.

    Attributes:
        tolerance: ε, in the unit of the velocities.
        step_bound: γ̄, in the unit of velocity by momentum; 1/λ_min or more is always right, and for a chain in absolute
            angles λ_min is at least the least moment of inertia. None to look at γ_m ‖y_m‖ ≤ ε itself: that is the
            printed condition ‖ξ_{m+1} − ξ_m‖ ≤ ε, which says that the method has become slow, not that it has arrived;
            the error may be κ times as large.
        limit: largest number of steps.
    """

    tolerance: float
    step_bound: float | None
    limit: int = 10_000

    def __post_init__(self) -> None:
        """Check the numbers."""
        positive("tolerance", self.tolerance)
        if self.step_bound is not None:
            positive("step_bound", self.step_bound)
        if self.limit < 1:
            raise ModelError(f"limit must be at least 1, got {self.limit!r}")

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """At most ``limit`` steps of one product A y each.

        Raises:
            NotConvergedError: if a γ_m exceeds ``step_bound``: the condition would then mean nothing.
        """
        b, z = checked(form, right, start)
        n, iterations, left = form.size, 0, np.inf
        target = 0.0 if self.step_bound is None else self.tolerance / self.step_bound
        count = form.product_setup + Operations(multiplications=2)
        while True:
            y = form.product(z) - b
            count += form.product_cost + Operations(additions=n) + Operations.of_inner_product(n)
            square = float(y @ y)
            while square > target**2 and iterations < self.limit:
                Ay = form.product(y)
                gamma = self._gamma(float(Ay @ y), float(Ay @ Ay), y)
                z = z - gamma * y
                y = y - gamma * Ay
                if self.step_bound is None:
                    # ‖y‖ may still be anything; what is asked for is that this step was small.
                    target = max(target, self.tolerance / gamma) if gamma**2 * square <= self.tolerance**2 else target
                square = float(y @ y)
                iterations += 1
                count += form.product_cost + step_cost(n) + Operations(multiplications=2 * (self.step_bound is None))
            before, left = left, residual(form, z, b)
            if left <= target or iterations >= self.limit or not left < before:
                break
        return LegendreSolution(z, iterations, count, left, target, left <= target)

    def _gamma(self, energy: float, square: float, y: Array) -> float:
        require_energy(energy, y)
        gamma = energy / square
        if self.step_bound is not None and gamma > self.step_bound * (1.0 + 1e-9):
            raise NotConvergedError(
                f"step_bound must bound every γ from above, but is {self.step_bound:.6g} where γ = {gamma:.6g} occurs; "
                "take 1/λ_min of the mass matrix, or None"
            )
        return gamma


def step_cost(n: int) -> Operations:
    """Arithmetic of one step beside its product: three inner products, two updates and a quotient."""
    return 3 * Operations.of_inner_product(n) + 2 * Operations.of_update(n) + Operations(multiplications=1)
