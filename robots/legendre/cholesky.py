"""The Legendre transform by Cholesky's factorization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.arrays import not_negative
from .legendre_solver import LegendreSolution, LegendreSolver, checked, not_positive_definite, residual
from .operations import Operations
from .quadratic_form import QuadraticForm


@dataclass(frozen=True)
class Cholesky(LegendreSolver):
    """Direct: A = L Lᵀ of the whole matrix, then two triangular systems; about n³/6 + n² multiplications.

    Attributes:
        tolerance: A is singular if a pivot L_ii² is not above this share of A_ii.
    """

    tolerance: float = 1e-13

    def __post_init__(self) -> None:
        """Check the number."""
        not_negative("tolerance", self.tolerance)

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Exact up to rounding; the start is checked and not used."""
        from scipy import linalg  # takes long to import

        b, _ = checked(form, right, start)
        A = form.matrix()
        try:
            factor = linalg.cho_factor(A, lower=True, check_finite=False)
        except linalg.LinAlgError as error:
            raise not_positive_definite(f"the smallest eigenvalue of A is {np.linalg.eigvalsh(A)[0]:.3g}") from error
        pivots = np.diagonal(factor[0]) ** 2 / np.diagonal(A)
        if not (pivots > self.tolerance).all():
            i = int(np.argmin(pivots))
            raise not_positive_definite(f"the relative pivot of velocity {i} is {pivots[i]:.3g}")
        z = np.asarray(linalg.cho_solve(factor, b, check_finite=False), dtype=np.float64)
        return LegendreSolution(
            z=z,
            iterations=0,
            operations=form.matrix_cost + operations(form.size),
            residual=residual(form, z, b),
            target=np.inf,
            converged=bool(np.isfinite(z).all()),
        )


def operations(n: int) -> Operations:
    """Arithmetic of factorization and both triangular systems of n equations.

    The factorization takes (n³ − n)/6 multiplications and as many subtractions, n(n − 1)/2 divisions and n roots; the
    triangular systems n(n − 1) multiplications and subtractions, and 2n divisions.
    """
    inner = (n**3 - n) // 6 + n * (n - 1)
    return Operations(inner + n * (n - 1) // 2 + n + 2 * n, inner)
