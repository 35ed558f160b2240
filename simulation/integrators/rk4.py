"""The classical Runge–Kutta method of order 4 with a fixed step."""

from __future__ import annotations

from dataclasses import dataclass

from ...symbolic.runge_kutta import CLASSICAL, Tableau
from .explicit_runge_kutta import ExplicitRungeKutta


@dataclass(frozen=True)
class RK4(ExplicitRungeKutta):
    """The classical method of order 4: four stages per step, the controller evaluated in each."""

    @property
    def tableau(self) -> Tableau:
        """Tableau with weights 1/6, 1/3, 1/3 and 1/6."""
        return CLASSICAL
