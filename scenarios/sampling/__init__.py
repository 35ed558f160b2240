"""Distributions of randomized numbers, and points at which they are sampled."""

from ...symbolic.runtime_type_checks import check_exports
from .points import LatinHypercube, Sampler, Sobol

__all__ = [
    "Sampler",
    "LatinHypercube",
    "Sobol",
]

check_exports(globals())
