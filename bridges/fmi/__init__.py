"""FMI 2.0 and 3.0: controllers, plants and closed loops as FMUs of generated C, and FMUs run by FMPy."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck, ExportFormat
from .export import Fmu, Kind, Version, export, write_scenario
from .fmu_model import Variable
from .instance import Instance
from .simulate import drive, simulate

__all__ = [
    "export",
    "Fmu",
    "Kind",
    "Version",
    "drive",
    "simulate",
    "Instance",
    "Variable",
]

BRIDGE = Bridge(
    __name__,
    carries="law, closed loop or plant as an FMU 2.0 or 3.0; FMPy runs it",
    package="fmpy",
    extra="fmi",
    cross_check=CrossCheck("all, as an FMU in FMPy", "RK4 inside"),
    formats={
        "fmu": ExportFormat("Functional Mock-up Unit, FMI 2.0 or 3.0", ("law", "loop", "plant"), ".fmu", write_scenario)
    },
)

check_exports(globals())
