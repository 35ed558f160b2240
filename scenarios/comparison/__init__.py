"""Controllers side by side on the same runs, with statistics of the differences."""

from ...symbolic.arguments import check_exports
from .compare import compare
from .comparison import Comparison
from .estimate import Estimate
from .findings import Pair, Summary
from .paired import Paired
from .pareto import Pareto
from .ranking import Ranking
from .robustness import Robustness
from .trial import Trial

__all__ = [
    "Comparison",
    "Estimate",
    "Pair",
    "Paired",
    "Pareto",
    "Ranking",
    "Robustness",
    "Summary",
    "Trial",
    "compare",
]

check_exports(globals())
