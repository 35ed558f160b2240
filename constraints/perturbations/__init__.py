"""Perturbation equations: what deviations are made to obey."""

from ...symbolic.runtime_type_checks import check_exports
from .perturbation import Certificate, Deviation, LyapunovFunction

__all__ = [
    "Deviation",
    "Certificate",
    "LyapunovFunction",
]

check_exports(globals())
