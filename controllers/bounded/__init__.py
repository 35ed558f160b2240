"""Inputs within limits: lexicographic quadratic programmes, one priority group of rows after the other."""

from ...symbolic.runtime_type_checks import check_exports
from .quadratic_program import ConicSolver, QpSolution, QpSolver, QuadraticProgram, is_optimal, optimality_residual
from .static_holding import StaticHolding

__all__ = [
    "ConicSolver",
    "QpSolver",
    "QuadraticProgram",
    "QpSolution",
    "optimality_residual",
    "is_optimal",
    "StaticHolding",
]

check_exports(globals())
