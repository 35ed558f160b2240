"""Other simulators and formats, one file each, imported only when used."""

from .python_control import closed_loop_to_iosys, controller_to_iosys, robot_to_iosys
from .python_control_linear import linearization_to_ss, perturbations_to_ss

__all__ = [
    "closed_loop_to_iosys",
    "controller_to_iosys",
    "linearization_to_ss",
    "perturbations_to_ss",
    "robot_to_iosys",
]
