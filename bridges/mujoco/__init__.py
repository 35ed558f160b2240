"""MuJoCo: controllers as control callbacks of its models, and robots from and to MJCF."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck, ExportFormat
from .control_callback import ControlCallback, drive
from .export import export, write_scenario
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

BRIDGE = Bridge(
    __name__,
    carries="the law as a callback; robots from and to MJCF, closed loops too",
    package="mujoco",
    extra="mujoco",
    cross_check=CrossCheck("robot from MJCF, law as callback", "MuJoCo's RK4"),
    formats={"mjcf": ExportFormat("MuJoCo's model file", ("plant",), ".xml", write_scenario)},
)

check_exports(globals())
