"""CasADi: laws as files without pickles, and robots and laws as functions for a problem of one's own."""

from ...symbolic.arguments import check_exports
from .files import export, load
from .functions import functions
from .loaded_law import LoadedLaw

__all__ = ["LoadedLaw", "export", "functions", "load"]

check_exports(globals())
