"""Solid shapes: boundaries of obstacles and regions, their combinations, motions and changes."""

from ...symbolic.arguments import check_exports
from .box import Box, box
from .capsule import Capsule, capsule
from .changing import Changing, changing
from .composition import Complement, Intersection, Union, complement, difference, intersection, union
from .ellipse import Ellipse, ellipse, superellipse
from .half_space import HalfSpace, half_space
from .moving import Moving, moving
from .polygon import Polygon, polygon
from .r_functions import RAlpha, RFunction, RNorm, RPower
from .tube import Tube, tube

__all__ = [
    "Box",
    "Capsule",
    "Changing",
    "Complement",
    "Ellipse",
    "HalfSpace",
    "Intersection",
    "Moving",
    "Polygon",
    "RAlpha",
    "RFunction",
    "RNorm",
    "RPower",
    "Tube",
    "Union",
    "box",
    "capsule",
    "changing",
    "complement",
    "difference",
    "ellipse",
    "half_space",
    "intersection",
    "moving",
    "polygon",
    "superellipse",
    "tube",
    "union",
]

check_exports(globals())
