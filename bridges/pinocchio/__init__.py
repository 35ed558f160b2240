"""Pinocchio: robots from and to its models, and controllers as torque functions of its states."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
from .coordinate_conversion import PinocchioStateConversion
from .cross_check import run_case
from .export import export
from .load import load
from .match import match
from .pinocchio_model import PinocchioModel
from .torque_function import TorqueFunction, drive

__all__ = [
    "export",
    "PinocchioModel",
    "load",
    "drive",
    "TorqueFunction",
    "match",
    "PinocchioStateConversion",
]

BRIDGE = Bridge(
    __name__,
    carries="robots from and to a pinocchio.Model with constraint models",
    package="pin",
    extra="pinocchio",
    cross_check=CrossCheck("robot as Model, law in its coordinates", "Erugin's RK4", run_case),
)

check_exports(globals())
