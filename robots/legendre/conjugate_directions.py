"""The Legendre transform by conjugate directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.arrays import not_negative
from ...symbolic.errors import ModelError
from .legendre_solver import LegendreSolution, LegendreSolver, checked, require_energy, residual
from .operations import Operations
from .quadratic_form import QuadraticForm


@dataclass(frozen=True)
class ConjugateDirections(LegendreSolver):
    """Conjugate gradients: each step goes to the maximum along a direction d with dᵀA d′ = 0 for all d′ before it.

    Exact arithmetic ends after at most n steps; with rounding an ill-conditioned A may need more. It stops at
    ‖A z − b‖ ≤ max(relative ‖b‖, absolute). A residual that drifted from the recurrence is found when it is
    recomputed at the end, and the directions start anew.

    Attributes:
        relative: share of ‖b‖ to which the residual must fall.
        absolute: residual that is good enough whatever b is, in the unit of the momenta.
        cycles: at most this many times n steps.
    """

    relative: float = 1e-10
    absolute: float = 0.0
    cycles: int = 4

    def __post_init__(self) -> None:
        """Check the numbers."""
        not_negative("relative", self.relative)
        not_negative("absolute", self.absolute)
        if self.cycles < 1:
            raise ModelError(f"cycles must be at least 1, got {self.cycles!r}")

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """At most ``cycles`` n steps of one product A d each."""
        b, z = checked(form, right, start)
        n = form.size
        target = max(self.relative * float(np.linalg.norm(b)), self.absolute)
        count = form.product_setup + Operations.of_inner_product(n) + Operations(multiplications=3)
        iterations, left = 0, np.inf
        while True:
            y = form.product(z) - b
            count += form.product_cost + Operations(additions=n) + Operations.of_inner_product(n)
            d, square = -y, float(y @ y)
            while square > target**2 and iterations < self.cycles * n:
                Ad = form.product(d)
                energy = float(d @ Ad)
                require_energy(energy, d)
                alpha = square / energy
                z = z + alpha * d
                y = y + alpha * Ad
                before, square = square, float(y @ y)
                d = square / before * d - y
                iterations += 1
                count += form.product_cost + step_cost(n)
            before, left = left, residual(form, z, b)
            if left <= target or iterations >= self.cycles * n or not left < before:
                break
        return LegendreSolution(z, iterations, count, left, target, left <= target)


def step_cost(n: int) -> Operations:
    """Arithmetic of one step beside its product: two inner products, three updates and two quotients."""
    return 2 * Operations.of_inner_product(n) + 3 * Operations.of_update(n) + Operations(multiplications=2)
