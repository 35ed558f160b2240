"""Ways to find the multipliers λ."""

from ...symbolic.arguments import check_exports
from .augmented import AugmentedMultipliers
from .canonical import CanonicalMotion, CanonicalMultipliers
from .capability import Capability
from .choice import chosen_method
from .direct import DirectMethod, DirectMotion
from .ldl import LdlMultipliers
from .least_norm import LeastNormMultipliers
from .movable import Movable
from .multipliers import MultiplierMethod, Multipliers
from .null_space import NullSpaceMultipliers
from .proximal import ProximalMultipliers
from .sweep import SweepMultipliers
from .udwadia_phohomsiri import UdwadiaPhohomsiriMultipliers

__all__ = [
    "AugmentedMultipliers",
    "CanonicalMotion",
    "CanonicalMultipliers",
    "Capability",
    "DirectMethod",
    "DirectMotion",
    "LdlMultipliers",
    "LeastNormMultipliers",
    "Movable",
    "MultiplierMethod",
    "Multipliers",
    "NullSpaceMultipliers",
    "ProximalMultipliers",
    "SweepMultipliers",
    "UdwadiaPhohomsiriMultipliers",
    "chosen_method",
]

check_exports(globals())
