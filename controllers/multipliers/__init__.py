"""Methods for the multipliers λ, one file each."""

from ...symbolic.runtime_type_checks import check_exports
from .augmented import AugmentedMultipliers
from .canonical import CanonicalMultipliers
from .forward_dynamics import ForwardDynamics
from .ldl import LdlMultipliers
from .least_norm import LeastNormMultipliers
from .method import Capability, DirectMethod, DirectMotion, MultiplierMethod, Multipliers
from .method_selection import default_method
from .null_space import NullSpaceMultipliers
from .proximal import ProximalMultipliers
from .sweep import SweepMultipliers
from .udwadia_phohomsiri import UdwadiaPhohomsiriMultipliers

__all__ = [
    "MultiplierMethod",
    "Multipliers",
    "DirectMethod",
    "DirectMotion",
    "Capability",
    "ForwardDynamics",
    "default_method",
    "LdlMultipliers",
    "SweepMultipliers",
    "AugmentedMultipliers",
    "CanonicalMultipliers",
    "LeastNormMultipliers",
    "ProximalMultipliers",
    "NullSpaceMultipliers",
    "UdwadiaPhohomsiriMultipliers",
]

check_exports(globals())
