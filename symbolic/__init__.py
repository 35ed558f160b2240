"""Coordinates and total derivatives; expressions to compiled functions."""

from .arguments import check_exports
from .coordinates import Coordinates
from .errors import (
    CompilerWarning,
    ContradictoryProgramError,
    EruginError,
    ModelError,
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

__all__ = [
    "CompilerWarning",
    "ContradictoryProgramError",
    "Coordinates",
    "EruginError",
    "Kernel",
    "Ldl",
    "ModelError",
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
