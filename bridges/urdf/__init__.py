"""URDF, the robot description format of ROS: robots from and to its files."""

from ...robots import load_urdf as load
from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, ExportFormat
from .export import export, write_scenario

__all__ = [
    "export",
    "load",
]

BRIDGE = Bridge(
    __name__,
    carries="robots from and to URDF, without their closed loops",
    package="lxml",
    extra="urdf",
    formats={"urdf": ExportFormat("the robot description of ROS", ("plant",), ".urdf", write_scenario)},
)

check_exports(globals())
