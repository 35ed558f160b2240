"""The Legendre transform by the form's own factorization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError
from .legendre_solver import LegendreSolution, LegendreSolver, checked, require_energy, residual
from .quadratic_form import FactoredForm, QuadraticForm


@dataclass(frozen=True)
class Factored(LegendreSolver):
    """Direct: the factorization that the form brings with it, O(n) where its structure allows.

    A planar chain is eliminated from the tip to the base; a robot has its own factorized mass matrix.
    """

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Exact up to rounding; the start is checked and not used.

        Raises:
            ModelError: if the form has no factorization of its own.
        """
        b, _ = checked(form, right, start)
        if not isinstance(form, FactoredForm):
            raise ModelError(f"a {type(form).__name__} has no factorization of its own; take Cholesky")
        z = form.eliminate(b)
        if b.any():
            require_energy(float(b @ z), z)
        return LegendreSolution(
            z=z,
            iterations=0,
            operations=form.eliminate_cost,
            residual=residual(form, z, b),
            target=np.inf,
            converged=bool(np.isfinite(z).all()),
        )
