"""Formulations: several ways to derive the equations of motion of a tree of bodies."""

from ...symbolic.runtime_type_checks import check_exports
from .articulated import Articulated
from .formulation import Formulation
from .lagrange import Lagrange
from .local_frames import LocalFrames
from .newton_euler import NewtonEuler
from .recurrent import Recurrent

__all__ = [
    "Formulation",
    "Articulated",
    "NewtonEuler",
    "Lagrange",
    "LocalFrames",
    "Recurrent",
]

FORMULATIONS: tuple[Formulation, ...] = (NewtonEuler(), Lagrange(), LocalFrames(), Recurrent(), Articulated())
"""One formulation of each kind."""

check_exports(globals())
