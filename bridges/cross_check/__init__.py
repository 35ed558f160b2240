"""The same closed loop in every simulator and format, with the differences of the motions."""

from ...symbolic.runtime_type_checks import check_exports
from .motion_differences import BridgeResult, compare_bridges

__all__ = [
    "compare_bridges",
    "BridgeResult",
]

check_exports(globals())
