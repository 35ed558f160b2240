"""Ready constraints: relations that programs are often made of, one file each."""

from ...symbolic.arguments import check_exports
from .curvature import path_curvature
from .distance import distance
from .energy_level import energy_level
from .on_curve import on_curve
from .orientation import orientation
from .rolling import rolling
from .speed import speed, speed_along
from .synchronized import synchronized
from .tangential_acceleration import bounded_tangential_acceleration, tangential_acceleration
from .trajectory import trajectory

__all__ = [
    "bounded_tangential_acceleration",
    "distance",
    "energy_level",
    "on_curve",
    "orientation",
    "path_curvature",
    "rolling",
    "speed",
    "speed_along",
    "synchronized",
    "tangential_acceleration",
    "trajectory",
]

check_exports(globals())
