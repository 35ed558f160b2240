"""Drake: controllers as systems of a diagram, robots as multibody plants, and plants as robots.

Drake is imported when a function of this package is called; without it they raise MissingPackageError.
"""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
from .diagram import drive
from .export import export
from .load import load
from .match import match
from .simulate import simulate

__all__ = [
    "export",
    "load",
    "drive",
    "simulate",
    "match",
]

BRIDGE = Bridge(
    __name__,
    carries="the law as a LeafSystem; robots from and to a MultibodyPlant",
    package="drake",
    extra="drake",
    cross_check=CrossCheck("robot from URDF, law as LeafSystem", "Drake's Runge-Kutta 5, equal steps"),
)

check_exports(globals())
