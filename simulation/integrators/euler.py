"""The explicit Euler method with a fixed step."""

from __future__ import annotations

from dataclasses import dataclass

from ...symbolic.runge_kutta import EULER, Tableau
from .explicit_runge_kutta import ExplicitRungeKutta


@dataclass(frozen=True)
class Euler(ExplicitRungeKutta):
    """x₊ = x + h f(t, x): order 1, one evaluation of the controller per step.

    What a control loop that samples once per step does to its plant at least: for comparisons, and to see what a step
    costs. It feeds energy into an oscillation, a fraction (ω h)² of it in each step, and needs h < 2 α/β² for a
    perturbation equation ÿ + 2α ẏ + β² y = 0 with α ≤ β. For a motion to rely on take :class:`RK4`.
    """

    @property
    def tableau(self) -> Tableau:
        """One stage."""
        return EULER
