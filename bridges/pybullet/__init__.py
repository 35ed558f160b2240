"""PyBullet: torque control of bodies in its worlds, and robots from and to URDF.

PyBullet is imported when a function of this package is called; without it they raise MissingPackageError.
"""

from ...symbolic.runtime_type_checks import check_exports
from .export import export, spawn
from .load import load
from .match import match
from .simulate import simulate
from .torque_control import TorqueControl, drive

__all__ = [
    "export",
    "spawn",
    "load",
    "drive",
    "TorqueControl",
    "simulate",
    "match",
]

check_exports(globals())
