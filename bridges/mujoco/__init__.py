"""MuJoCo: controllers as control callbacks of its models, and robots from and to MJCF."""

from ...symbolic.runtime_type_checks import check_exports
from .control_callback import ControlCallback, drive
from .export import export
from .joint_map import JointMap
from .load import load
from .match import match
from .obstacles import Obstacle
from .simulate import simulate

__all__ = [
    "export",
    "load",
    "drive",
    "ControlCallback",
    "Obstacle",
    "simulate",
    "match",
    "JointMap",
]

check_exports(globals())
