"""Perturbation equations: what deviations are made to obey."""

from ...symbolic.arguments import check_exports
from .baumgarte import Baumgarte
from .bounded import Bounded
from .certificate import Certificate, LyapunovFunction
from .deressa import Deressa
from .deviation import Deviation
from .energies import Energies
from .exact import Exact
from .finite_time import FiniteTime
from .first_order import FirstOrder
from .linear import Linear
from .nonlinear import Nonlinear
from .perturbation import Perturbation
from .prescribed_time import PrescribedTime
from .sliding import Sliding

__all__ = [
    "Baumgarte",
    "Bounded",
    "Certificate",
    "Deressa",
    "Deviation",
    "Energies",
    "Exact",
    "FiniteTime",
    "FirstOrder",
    "Linear",
    "LyapunovFunction",
    "Nonlinear",
    "Perturbation",
    "PrescribedTime",
    "Sliding",
]

check_exports(globals())
