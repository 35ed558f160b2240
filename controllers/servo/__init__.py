"""Servo-constraints: programs that the inputs reach only after more derivatives."""

from ...symbolic.arguments import check_exports
from .internal_dynamics import InternalDynamics, InternalDynamicsWarning, Stability
from .judge_internal import internal_dynamics
from .on_program import Feedforward
from .relative_degree import RelativeDegree, relative_degree
from .servo_controller import ServoController
from .stable_inversion import InvertedMotion, stable_inversion
from .transition import transition

__all__ = [
    "Feedforward",
    "InternalDynamics",
    "InternalDynamicsWarning",
    "InvertedMotion",
    "RelativeDegree",
    "ServoController",
    "Stability",
    "internal_dynamics",
    "relative_degree",
    "stable_inversion",
    "transition",
]

check_exports(globals())
