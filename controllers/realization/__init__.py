"""How R becomes u: ideal or actuated."""

from .actuated import Actuated
from .ideal import Ideal
from .realization import Realization, Realized

__all__ = ["Actuated", "Ideal", "Realization", "Realized"]
