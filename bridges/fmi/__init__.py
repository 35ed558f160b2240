"""FMI 2.0 and 3.0: laws, plants and closed loops as FMUs of generated C, and runs of FMUs in FMPy."""

from ...symbolic.arguments import check_exports
from .block import Variable
from .drive import drive
from .export import Fmu, Kind, Version, export
from .instance import Instance
from .simulate import simulate

__all__ = ["Fmu", "Instance", "Kind", "Variable", "Version", "drive", "export", "simulate"]

check_exports(globals())
