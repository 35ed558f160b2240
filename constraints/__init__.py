"""Constraints, perturbation equations, curves and Erugin fields."""

from .constraint import AccelerationForm, Constraint, holonomic, nonholonomic, second_order
from .curves import Circle, Curve, Implicit, Line, Spline, circle, implicit, line, spline
from .field import EruginField
from .follow import follow
from .perturbations import Baumgarte, Certificate, Deviation, Exact, FirstOrder, Perturbation
from .side import choose_side

__all__ = [
    "AccelerationForm",
    "Baumgarte",
    "Certificate",
    "Circle",
    "Constraint",
    "Curve",
    "Deviation",
    "EruginField",
    "Exact",
    "FirstOrder",
    "Implicit",
    "Line",
    "Perturbation",
    "Spline",
    "choose_side",
    "circle",
    "follow",
    "holonomic",
    "implicit",
    "line",
    "nonholonomic",
    "second_order",
    "spline",
]
