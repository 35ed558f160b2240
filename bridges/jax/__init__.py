"""JAX: controllers and robots as functions that can be differentiated, batched and compiled."""

from ...symbolic.runtime_type_checks import check_exports
from ..common.bridge import Bridge, CrossCheck
from .cross_check import run_case
from .export import JaxFunction, JaxSampledLaw, export

__all__ = [
    "export",
    "JaxFunction",
    "JaxSampledLaw",
]

BRIDGE = Bridge(
    __name__,
    carries="law and acceleration to differentiate, batch and compile",
    package="jax",
    extra="jax",
    cross_check=CrossCheck("all, as functions", "RK4 in lax.scan", run_case),
)

check_exports(globals())
