"""Studies: many runs on this machine or a cluster, with results on disk that survive any end."""

from ...symbolic.arguments import check_exports
from .execution import StudyInterrupted
from .results import Results
from .study import Study

__all__ = ["Results", "Study", "StudyInterrupted"]

check_exports(globals())
