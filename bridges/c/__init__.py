"""Controllers and closed loops as plain C99, for microcontrollers and ros2_control."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck, ExportFormat
from .cross_check import run_case
from .export import CFolder, export, write_scenario
from .straight_line_code import CSource, c_source

__all__ = [
    "export",
    "CFolder",
    "c_source",
    "CSource",
]

BRIDGE = Bridge(
    __name__,
    carries="the law, or the closed loop, as C99 without allocation",
    cross_check=CrossCheck("all, as C99", "RK4 inside", run_case),
    formats={"c": ExportFormat("a folder of C99", ("law", "loop"), "-c", write_scenario)},
)

check_exports(globals())
