"""Verification of a field at many positions: integral curves, critical points, jumps and previews of the motion."""

from ...symbolic.runtime_type_checks import check_exports
from .critical_points import CriticalPoint
from .field_report import Approach, Extreme, RowReport, VelocityJump

__all__ = [
    "CriticalPoint",
    "RowReport",
    "Approach",
    "Extreme",
    "VelocityJump",
]

check_exports(globals())
