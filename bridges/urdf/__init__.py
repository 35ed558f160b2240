"""URDF: robots from and to the robot description format of ROS."""

from ...robots.urdf import load_urdf as load
from ...symbolic.arguments import check_exports
from .export import export

__all__ = ["export", "load"]

check_exports(globals())
