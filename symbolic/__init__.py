"""Coordinates and total derivatives; expressions to compiled functions."""

from .arguments import check_exports
from .coordinates import Coordinates
from .errors import (
    CompilerWarning,
    ContradictoryProgramError,
    EruginError,
    ModelError,
    NoRoomError,
    NotConvergedError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    SingularProgramError,
    StartWarning,
)
from .kernel import Kernel
from .ldl import Ldl
from .parameters import Parameters, Range
from .pickles import register as _register

_register()

__all__ = [
    "CompilerWarning",
    "ContradictoryProgramError",
    "Coordinates",
    "EruginError",
    "Kernel",
    "Ldl",
    "ModelError",
    "NoRoomError",
    "NotConvergedError",
    "NotFiniteError",
    "ParameterError",
    "Parameters",
    "Range",
    "ShapeError",
    "SingularProgramError",
    "StartWarning",
]

check_exports(globals())
