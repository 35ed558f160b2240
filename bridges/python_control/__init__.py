"""Robots, controllers and closed loops as systems of python-control, and its mechanical state spaces as robots."""

from ...symbolic.arguments import check_exports
from .controller_system import drive
from .linear import export_linearization, export_perturbations
from .load import load
from .match import match
from .simulate import simulate
from .systems import export, export_loop

__all__ = [
    "drive",
    "export",
    "export_linearization",
    "export_loop",
    "export_perturbations",
    "load",
    "match",
    "simulate",
]

check_exports(globals())
