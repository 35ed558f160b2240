"""Ways of solving a constrained motion in numbers; all give the same motion wherever it is unique."""

from ...symbolic.arguments import check_exports
from .augmented import Augmented
from .elimination import Elimination
from .least_norm import LeastNorm
from .proximal import Proximal
from .udwadia_phohomsiri import UdwadiaPhohomsiri
from .way import Case, MotionSolution, Outcome, Way
from .whole_system import WholeSystem

__all__ = [
    "Augmented",
    "Case",
    "Elimination",
    "LeastNorm",
    "MotionSolution",
    "Outcome",
    "Proximal",
    "UdwadiaPhohomsiri",
    "Way",
    "WholeSystem",
]

check_exports(globals())
