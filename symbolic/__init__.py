"""Symbols and numbers: coordinates, parameters, linear algebra of expressions, and compiled kernels."""

from .coordinates import Coordinates
from .errors import (
    BridgeError,
    BridgeWarning,
    CompilerWarning,
    ContradictoryProgramError,
    EruginError,
    MissingPackageError,
    ModelError,
    MotionFileError,
    NotConvergedError,
    NotFiniteError,
    NotFiniteInputError,
    OutOfMemoryError,
    ParameterError,
    ShapeError,
    SingularProgramError,
    StartWarning,
    StudyError,
    StudyWarning,
)
from .kernel import Kernel
from .linear_algebra import Ldl
from .parameters import NO_PARAMETERS, Parameters, Range
from .pickling import register_picklers as _register
from .runtime_type_checks import check_exports

__all__ = [
    "Coordinates",
    "Parameters",
    "NO_PARAMETERS",
    "Range",
    "Kernel",
    "Ldl",
    "EruginError",
    "ModelError",
    "ParameterError",
    "ShapeError",
    "SingularProgramError",
    "ContradictoryProgramError",
    "NotConvergedError",
    "NotFiniteError",
    "NotFiniteInputError",
    "OutOfMemoryError",
    "MissingPackageError",
    "BridgeError",
    "StudyError",
    "MotionFileError",
    "CompilerWarning",
    "StartWarning",
    "BridgeWarning",
    "StudyWarning",
]

_register()

check_exports(globals())
