"""FMI 2.0 and 3.0: controllers, plants and closed loops as FMUs of generated C, and FMUs run by FMPy."""

from ...symbolic.runtime_type_checks import check_exports
from .export import Fmu, Kind, Version, export
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

check_exports(globals())
