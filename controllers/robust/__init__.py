"""Program control of plants that are not known exactly: integral action, adaptation, bounded disturbances."""

from ...symbolic.arguments import check_exports
from .adaptive import AdaptiveProgramController
from .disturbance import linear_bound, row_disturbance
from .integral import Integral, IntegralProgramController
from .unknowns import Estimate

__all__ = [
    "AdaptiveProgramController",
    "Estimate",
    "Integral",
    "IntegralProgramController",
    "linear_bound",
    "row_disturbance",
]

check_exports(globals())
