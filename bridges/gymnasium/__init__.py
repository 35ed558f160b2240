"""Gymnasium: scenarios as environments, single or vectorized; Gymnasium is imported when one is built."""

from ...symbolic.runtime_type_checks import check_exports
from .export import export, export_vector, register
from .reward import Reward, Transition

__all__ = [
    "export",
    "export_vector",
    "register",
    "Reward",
    "Transition",
]

check_exports(globals())
