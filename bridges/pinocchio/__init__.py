"""Pinocchio: robots from and to its models, and controllers as torque functions of its states."""

from ...symbolic.runtime_type_checks import check_exports
from .coordinate_conversion import PinocchioStateConversion
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

check_exports(globals())
