"""Distributions of what varies, and points at which it is sampled."""

from ...symbolic.arguments import check_exports
from .choice import Choice
from .continuous import LogNormal, Normal, Uniform
from .distribution import Distribution
from .draw import draw, place, seed_numbers
from .points import LatinHypercube, Sampler, Sobol
from .relative import Scaled, Shifted

__all__ = [
    "Choice",
    "Distribution",
    "LatinHypercube",
    "LogNormal",
    "Normal",
    "Sampler",
    "Scaled",
    "Shifted",
    "Sobol",
    "Uniform",
    "draw",
    "place",
    "seed_numbers",
]

check_exports(globals())
