"""python-control: robots, controllers and closed loops as systems with named signals, and state spaces as robots."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
from .controller_system import drive
from .export import export, export_loop
from .load import load
from .match import match
from .simulate import simulate
from .state_space import export_linearization, export_perturbations

__all__ = [
    "export",
    "export_loop",
    "export_linearization",
    "export_perturbations",
    "load",
    "drive",
    "simulate",
    "match",
]

BRIDGE = Bridge(
    __name__,
    carries="law, robot and closed loop as systems with named signals",
    package="control",
    cross_check=CrossCheck("robot and law as systems", "SciPy, by python-control"),
)

check_exports(globals())
