"""Ways to find the multipliers λ."""

from .augmented import AugmentedMultipliers
from .ldl import LdlMultipliers
from .least_norm import LeastNormMultipliers
from .multipliers import Movable, MultiplierMethod, Multipliers
from .proximal import ProximalMultipliers

__all__ = [
    "AugmentedMultipliers",
    "LdlMultipliers",
    "LeastNormMultipliers",
    "Movable",
    "MultiplierMethod",
    "Multipliers",
    "ProximalMultipliers",
]
