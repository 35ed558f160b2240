"""Integrators, one file each."""

from ...symbolic.arguments import check_exports
from .canonical_euler import CanonicalEuler
from .cvodes import CVODES
from .dop853 import DOP853
from .euler import Euler
from .generalized_alpha import GeneralizedAlpha
from .idas import IDAS
from .integrator import Integrator
from .legendre_report import LegendreReport
from .projected import Projected
from .radau import Radau
from .reduced import Reduced
from .rk4 import RK4
from .variational import Variational

__all__ = [
    "CVODES",
    "DOP853",
    "IDAS",
    "RK4",
    "CanonicalEuler",
    "Euler",
    "GeneralizedAlpha",
    "Integrator",
    "LegendreReport",
    "Projected",
    "Radau",
    "Reduced",
    "Variational",
]

check_exports(globals())
