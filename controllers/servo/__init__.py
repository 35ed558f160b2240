"""Servo-constraints: programs that the inputs reach only after more derivatives."""

from ...symbolic.runtime_type_checks import check_exports
from .internal_dynamics import InternalDynamics, InternalDynamicsWarning, Stability
from .program_manifold import Feedforward
from .relative_degree import RelativeDegree, relative_degree
from .servo_controller import ServoController, internal_dynamics
from .stable_inversion import InvertedMotion, stable_inversion

__all__ = [
    "ServoController",
    "Feedforward",
    "relative_degree",
    "RelativeDegree",
    "internal_dynamics",
    "InternalDynamics",
    "Stability",
    "InternalDynamicsWarning",
    "stable_inversion",
    "InvertedMotion",
]

check_exports(globals())
