"""Equations of motion of a tree of bodies, derived in several ways."""

from ...symbolic.arguments import check_exports
from .articulated import Articulated
from .formulation import Formulation
from .lagrange import Lagrange
from .local_frames import LocalFrames
from .newton_euler import NewtonEuler
from .recurrent import Recurrent

FORMULATIONS: tuple[Formulation, ...] = (NewtonEuler(), Lagrange(), LocalFrames(), Recurrent(), Articulated())
"""One of each."""

__all__ = [
    "FORMULATIONS",
    "Articulated",
    "Formulation",
    "Lagrange",
    "LocalFrames",
    "NewtonEuler",
    "Recurrent",
]

check_exports(globals())
