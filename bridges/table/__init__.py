"""One closed loop in every simulator and format, and how far the motions are apart."""

from ...symbolic.arguments import check_exports
from .compare import Row, compare_bridges

__all__ = ["Row", "compare_bridges"]

check_exports(globals())
