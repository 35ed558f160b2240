"""Inputs within limits: quadratic programmes, one group of rows after the other."""

from ...symbolic.arguments import check_exports
from .conic_solver import ConicSolver
from .holding import Holding
from .inputs import BoundedInputs
from .limits import ControlLimits
from .memory import BoundedMemory
from .quadratic_program import QpAnswer, QpSolver, QuadraticProgram, is_optimal, misses

__all__ = [
    "BoundedInputs",
    "BoundedMemory",
    "ConicSolver",
    "ControlLimits",
    "Holding",
    "QpAnswer",
    "QpSolver",
    "QuadraticProgram",
    "is_optimal",
    "misses",
]

check_exports(globals())
