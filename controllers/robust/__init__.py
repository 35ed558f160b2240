"""Program control of plants that are not known exactly: integral action, adaptation, bounded disturbances."""

from ...symbolic.runtime_type_checks import check_exports
from .adaptive import AdaptiveProgramController
from .disturbance_bounds import row_disturbance, ultimate_bound
from .integral import IntegralMemory, IntegralProgramController
from .parameter_estimate import ParameterEstimate

__all__ = [
    "IntegralProgramController",
    "IntegralMemory",
    "AdaptiveProgramController",
    "ParameterEstimate",
    "row_disturbance",
    "ultimate_bound",
]

check_exports(globals())
