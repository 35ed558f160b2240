"""Control laws as plain C99, for microcontrollers and ros2_control."""

from ...symbolic.arguments import check_exports
from .export import CFolder, export
from .source import CSource, c_source

__all__ = ["CFolder", "CSource", "c_source", "export"]

check_exports(globals())
