"""Ways to find the multipliers λ."""

from .ldl import LdlMultipliers
from .multipliers import MultiplierMethod, Multipliers

__all__ = ["LdlMultipliers", "MultiplierMethod", "Multipliers"]
