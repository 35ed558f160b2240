"""The Legendre transform: velocities from momenta, as a quadratic programme."""

from ...symbolic.arguments import check_exports
from .cholesky import Cholesky
from .comparison import LegendreRow, compare_legendre, fewest_multiplications
from .conjugate_directions import ConjugateDirections
from .factored import Factored
from .legendre_solver import LegendreSolution, LegendreSolver, Start
from .legendre_transform import LegendreTransform, RobotForm
from .minimal_residuals import MinimalResiduals
from .operations import Operations
from .planar_chain import ChainForm, PlanarChain
from .quadratic_form import DenseForm, FactoredForm, NotPositiveDefiniteError, ProductForm, QuadraticForm

__all__ = [
    "ChainForm",
    "Cholesky",
    "ConjugateDirections",
    "DenseForm",
    "Factored",
    "FactoredForm",
    "LegendreRow",
    "LegendreSolution",
    "LegendreSolver",
    "LegendreTransform",
    "MinimalResiduals",
    "NotPositiveDefiniteError",
    "Operations",
    "PlanarChain",
    "ProductForm",
    "QuadraticForm",
    "RobotForm",
    "Start",
    "compare_legendre",
    "fewest_multiplications",
]

check_exports(globals())
