"""Curves and surfaces: program paths and boundaries of obstacles."""

from ...symbolic.runtime_type_checks import check_exports
from .circle import Circle
from .curve import Curve
from .implicit import Implicit
from .line import Line
from .parametric import Parametric
from .spline import Spline

__all__ = [
    "Curve",
    "Circle",
    "Line",
    "Spline",
    "Implicit",
    "Parametric",
]

check_exports(globals())
