"""Controllers side by side on the same runs, with statistics of the differences."""

from ...symbolic.runtime_type_checks import check_exports
from .comparison import Robustness
from .estimate import Estimate
from .paired import Paired, PairedSummary, Summary
from .pareto import Pareto
from .quantities import Quantity
from .ranking import Ranking

__all__ = [
    "Quantity",
    "Estimate",
    "Summary",
    "PairedSummary",
    "Paired",
    "Ranking",
    "Pareto",
    "Robustness",
]

check_exports(globals())
