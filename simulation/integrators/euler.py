"""The explicit Euler method with a fixed step."""

from __future__ import annotations

from dataclasses import dataclass

from ...symbolic.runge_kutta import EULER, Tableau
from .explicit_runge_kutta import ExplicitRungeKutta


@dataclass(frozen=True)
class Euler(ExplicitRungeKutta):
    """x₊ = x + h f(t, x): order 1, one evaluation of the controller per step.

    It shows the least that a control loop sampled once per step does to its plant: use it for comparisons, and to see
    the effect of the step. It feeds energy into an oscillation, a fraction (ω h)² of it in each step, and requires
    h < 2 α/β² for a perturbation equation ÿ + 2α ẏ + β² y = 0 with α ≤ β. For accurate motions use :class:`RK4`.
    """

    @property
    def tableau(self) -> Tableau:
        """Tableau with one stage."""
        return EULER
