"""Curves and surfaces: program paths and boundaries of obstacles."""

from ...symbolic.arguments import check_exports
from .circle import Circle, circle
from .curve import Curve
from .implicit import Implicit, implicit
from .line import Line, line
from .parametric import Parametric, parametric
from .spline import Spline, spline

__all__ = [
    "Circle",
    "Curve",
    "Implicit",
    "Line",
    "Parametric",
    "Spline",
    "circle",
    "implicit",
    "line",
    "parametric",
    "spline",
]

check_exports(globals())
