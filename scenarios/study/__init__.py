"""Studies: many runs on this machine or a cluster, with results on disk that survive any end."""

from .execution import StudyInterrupted
from .results import Results
from .study import Study

__all__ = ["Results", "Study", "StudyInterrupted"]
