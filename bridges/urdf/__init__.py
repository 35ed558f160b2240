"""URDF, the robot description format of ROS: robots from and to its files."""

from ...symbolic.runtime_type_checks import check_exports
from ..casadi.controller_files import load
from .export import export

__all__ = [
    "export",
    "load",
]

check_exports(globals())
