"""PyBullet: torque control of bodies in its worlds, and robots from and to URDF.

PyBullet is imported when a function of this package is called; without it they raise MissingPackageError.
"""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
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

BRIDGE = Bridge(
    __name__,
    carries="the law in a torque-control loop; robots through URDF",
    package="pybullet",
    extra="pybullet",
    cross_check=CrossCheck("robot from URDF, law once per step", "Bullet's semi-implicit Euler"),
)

check_exports(globals())
