"""Controllers and closed loops as plain C99, for microcontrollers and ros2_control."""

from ...symbolic.runtime_type_checks import check_exports
from .export import CFolder, export
from .straight_line_code import CSource, c_source

__all__ = [
    "export",
    "CFolder",
    "c_source",
    "CSource",
]

check_exports(globals())
