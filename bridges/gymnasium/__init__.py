"""Gymnasium: scenarios as environments, single or vectorized; Gymnasium is imported when one is built."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
from .cross_check import run_case
from .export import export, export_vector, register
from .reward import Reward, Transition

__all__ = [
    "export",
    "export_vector",
    "register",
    "Reward",
    "Transition",
]

BRIDGE = Bridge(
    __name__,
    carries="a scenario as an environment, with the law as its base policy",
    package="gymnasium",
    extra="gymnasium",
    cross_check=CrossCheck("all, as an environment", "RK4 inside", run_case),
)

check_exports(globals())
