"""Perturbation equations: what deviations are made to obey."""

from ...symbolic.runtime_type_checks import check_exports
from .certificate import Certificate, LyapunovFunction
from .perturbation import Deviation

__all__ = [
    "Deviation",
    "Certificate",
    "LyapunovFunction",
]

check_exports(globals())
