"""Pages about studies that can be read without a network."""

from ...symbolic.arguments import check_exports
from .report import report, write_report

__all__ = ["report", "write_report"]

check_exports(globals())
