"""Numerical solvers of a constrained motion; all give the same motion wherever it is unique."""

from ...symbolic.runtime_type_checks import check_exports
from .constrained_solver import ConstrainedSolver, MotionSolution, SingularCase, SolveOutcome
from .motion_solvers import Augmented, LeastNorm, Proximal, SaddlePoint, SchurComplement, UdwadiaPhohomsiri

__all__ = [
    "ConstrainedSolver",
    "MotionSolution",
    "SolveOutcome",
    "SingularCase",
    "SchurComplement",
    "SaddlePoint",
    "LeastNorm",
    "Augmented",
    "Proximal",
    "UdwadiaPhohomsiri",
]

check_exports(globals())
