"""Solid shapes: boundaries of obstacles and regions, their combinations, motions and changes."""

from ...symbolic.runtime_type_checks import check_exports
from .box import Box
from .capsule import Capsule
from .composition import Complement, Intersection, Union
from .ellipse import Ellipse
from .half_space import HalfSpace
from .moving_solid import MovingSolid
from .polygon import Polygon
from .r_functions import RAlpha, RFunction, RNorm, RPower
from .time_varying_solid import TimeVaryingSolid
from .tube import Tube

__all__ = [
    "Box",
    "Ellipse",
    "Polygon",
    "Capsule",
    "Tube",
    "HalfSpace",
    "Union",
    "Intersection",
    "Complement",
    "MovingSolid",
    "TimeVaryingSolid",
    "RFunction",
    "RAlpha",
    "RPower",
    "RNorm",
]

check_exports(globals())
