"""Integrators, one file each."""

from .canonical_euler import CanonicalEuler
from .dop853 import DOP853
from .integrator import Integrator
from .legendre_report import LegendreReport
from .projected import Projected
from .reduced import Reduced
from .rk4 import RK4

__all__ = ["DOP853", "RK4", "CanonicalEuler", "Integrator", "LegendreReport", "Projected", "Reduced"]
