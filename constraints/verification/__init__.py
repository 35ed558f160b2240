"""Looking at an Erugin field from many places: what must hold of it, and what a point meets on its way."""

from ...symbolic.arguments import check_exports
from .critical_points import CriticalPoint
from .report import Approach, Extreme, FieldReport, Jump, RowReport
from .verify import verify

__all__ = ["Approach", "CriticalPoint", "Extreme", "FieldReport", "Jump", "RowReport", "verify"]

check_exports(globals())
