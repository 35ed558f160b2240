"""JAX: controllers and robots as functions that can be differentiated, batched and compiled."""

from ...symbolic.runtime_type_checks import check_exports
from .export import JaxFunction, export

__all__ = [
    "export",
    "JaxFunction",
]

check_exports(globals())
