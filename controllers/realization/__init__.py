"""How R becomes u: ideal or actuated."""

from .actuated import Actuated
from .ideal import Ideal
from .realization import Realization, Realized, active_rows

__all__ = ["Actuated", "Ideal", "Realization", "Realized", "active_rows"]
