"""HTML reports of studies, which can be read offline."""

from ...symbolic.runtime_type_checks import check_exports
from .page import report, write_report

__all__ = [
    "report",
    "write_report",
]

check_exports(globals())
