"""Control of plants that are not known exactly: adaptation, observers of missing forces, bounded disturbances."""

from ...symbolic.runtime_type_checks import check_exports
from .adaptive import AdaptiveProgramController
from .disturbance_bounds import row_disturbance, ultimate_bound
from .disturbance_observer import DisturbanceObserver
from .parameter_estimate import ParameterEstimate
from .tube import Tube, Uncertainty

__all__ = [
    "AdaptiveProgramController",
    "DisturbanceObserver",
    "ParameterEstimate",
    "Tube",
    "Uncertainty",
    "row_disturbance",
    "ultimate_bound",
]

check_exports(globals())
