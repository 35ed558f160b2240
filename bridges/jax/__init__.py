"""JAX: laws and robots as functions that can be differentiated, batched and compiled."""

from ...symbolic.arguments import check_exports
from .export import export
from .function import JaxFunction

__all__ = ["JaxFunction", "export"]

check_exports(globals())
