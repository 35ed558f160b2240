"""Integrators, one file each."""

from .dop853 import DOP853
from .integrator import Integrator
from .rk4 import RK4

__all__ = ["DOP853", "RK4", "Integrator"]
