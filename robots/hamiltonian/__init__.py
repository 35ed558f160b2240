"""The canonical form of robots, and the Legendre transform from momenta to velocities as a quadratic programme."""

from ...symbolic.runtime_type_checks import check_exports
from .canonical_form import CanonicalForm, canonical_form
from .legendre_solvers import (
    Cholesky,
    ConjugateDirections,
    LegendreSolution,
    LegendreSolver,
    MinimalResiduals,
    Start,
    StructuredElimination,
)
from .legendre_transform import LegendreTransform, RobotForm
from .operation_count import OperationCount
from .planar_chain import ChainForm, PlanarChain
from .quadratic_form import DenseForm, FactoredForm, NotPositiveDefiniteError, ProductForm, QuadraticForm
from .solver_comparison import LegendreRow, compare_legendre, fewest_multiplications

__all__ = [
    "canonical_form",
    "CanonicalForm",
    "LegendreTransform",
    "RobotForm",
    "QuadraticForm",
    "DenseForm",
    "ProductForm",
    "FactoredForm",
    "NotPositiveDefiniteError",
    "LegendreSolver",
    "LegendreSolution",
    "Start",
    "Cholesky",
    "StructuredElimination",
    "ConjugateDirections",
    "MinimalResiduals",
    "OperationCount",
    "PlanarChain",
    "ChainForm",
    "compare_legendre",
    "LegendreRow",
    "fewest_multiplications",
]

check_exports(globals())
