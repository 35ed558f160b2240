"""Equations of motion term by term, as text and as LaTeX."""

from ...symbolic.runtime_type_checks import check_exports
from .derivation import equations_of
from .equations_of_motion import EquationsOfMotion, Expression, LegendEntry, MotionEquation, Relation

__all__ = [
    "equations_of",
    "EquationsOfMotion",
    "MotionEquation",
    "Relation",
    "Expression",
    "LegendEntry",
]

check_exports(globals())
