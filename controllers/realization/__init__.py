"""How R becomes u: ideal, actuated or bounded."""

from ...symbolic.arguments import check_exports
from .actuated import Actuated
from .bounded import Bounded
from .ideal import Ideal
from .realization import Realization, Realized, active_rows

__all__ = ["Actuated", "Bounded", "Ideal", "Realization", "Realized", "active_rows"]

check_exports(globals())
