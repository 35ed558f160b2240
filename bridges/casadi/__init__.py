"""Controllers as files without pickles; robots, programs and controllers as CasADi functions."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck, ExportFormat
from .controller_files import LoadedController, export, load, write_scenario
from .cross_check import run_case
from .functions import functions

__all__ = [
    "export",
    "load",
    "functions",
    "LoadedController",
]

BRIDGE = Bridge(
    __name__,
    carries="the law as a file; robot, program and law as functions for Opti",
    package="casadi",
    cross_check=CrossCheck("law from a file", "Erugin's RK4", run_case),
    formats={
        "casadi": ExportFormat("Erugin's file of a law, read by bridges.casadi.load", ("law",), ".json", write_scenario)
    },
)

check_exports(globals())
