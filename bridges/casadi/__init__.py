"""Controllers as files without pickles; robots, programs and controllers as CasADi functions."""

from ...symbolic.runtime_type_checks import check_exports
from .controller_files import LoadedController, export, load
from .functions import functions

__all__ = [
    "export",
    "load",
    "functions",
    "LoadedController",
]

check_exports(globals())
