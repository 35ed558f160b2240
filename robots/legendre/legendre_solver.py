"""The abstract solver of the quadratic programme of the Legendre transform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import vector
from ...symbolic.errors import ModelError, NotConvergedError
from .operations import Operations
from .quadratic_form import NotPositiveDefiniteError, QuadraticForm

Array = NDArray[np.float64]
Start = Literal["last", "extrapolated"]
"""First guess along a motion: the z of the step before, or the line through those of the two steps before."""
STARTS: tuple[Start, ...] = ("last", "extrapolated")


@dataclass(frozen=True, eq=False)
class LegendreSolution:
    """Velocities from momenta, and what it took to find them.

    Attributes:
        z: maximizer, shape (n,).
        iterations: steps of an iterative method; 0 for a direct one, or if the start was good enough.
        operations: all arithmetic of the method, with the products A z, matrices and factorizations that it asked of
            the form; not that of ``residual``, which is for the report.
        residual: ‖A z − b‖, recomputed from the data, in the unit of the momenta.
        target: the residual that was asked for; infinite for a direct method, which takes what comes.
        converged: whether the residual is within the target.
    """

    z: Array
    iterations: int
    operations: Operations
    residual: float
    target: float
    converged: bool

    def __post_init__(self) -> None:
        """Freeze the velocities."""
        self.z.setflags(write=False)


class LegendreSolver(ABC):
    """Finds z* = arg max_z [bᵀz − ½ zᵀA z], the solution of A z = b, for a positive definite A.

    This is [DunskayaPyatnitsky1996]_ eq. (3.2) with b = p − a, where p are the momenta and a the coefficients of the
    velocities in the Lagrangian; the constant L₀ does not move the maximum. The Hamiltonian is ½ bᵀz* − L₀.
    """

    @abstractmethod
    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve, and say whether it worked.

        Args:
            form: A.
            right: b, shape (n,).
            start: first guess of z, shape (n,), such as the z of the last step; zero if not given. A direct method
                does not need it.

        Returns:
            The solution, whose ``converged`` is False if the iterations ran out.

        Raises:
            ShapeError: for a wrong shape, or a number that is not finite.
            NotPositiveDefiniteError: if A is found not to be positive definite. A direct method always finds it; an
                iterative one only if it meets a direction z with zᵀA z ≤ 0.
        """

    def solve(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve, or raise.

        Args:
            form: A.
            right: b, shape (n,).
            start: first guess of z, shape (n,); zero if not given.

        Raises:
            NotConvergedError: if the residual is not within the target.
            ShapeError, NotPositiveDefiniteError: as for :meth:`attempt`.
        """
        solution = self.attempt(form, right, start)
        if not solution.converged:
            raise NotConvergedError(
                f"{self} left a residual of {solution.residual:.3g} after {solution.iterations} iterations where "
                f"{solution.target:.3g} was asked for. Allow more iterations, a larger tolerance, or take Cholesky, "
                "which needs no iterations"
            )
        return solution


def checked(form: QuadraticForm, right: ArrayLike, start: ArrayLike | None) -> tuple[Array, Array]:
    """b and the first guess as new arrays of shape (n,); raises ShapeError."""
    b = vector("right", right, form.size)
    return b, np.zeros(form.size) if start is None else vector("start", start, form.size)


def residual(form: QuadraticForm, z: Array, right: Array) -> float:
    """‖A z − b‖."""
    return float(np.linalg.norm(form.product(z) - right))


def not_positive_definite(found: str) -> NotPositiveDefiniteError:
    """The error for a form that is not positive definite, with what was found."""
    return NotPositiveDefiniteError(
        f"the kinetic energy is not a positive definite form of the velocities: {found}. Check masses and inertias, "
        "and leave out redundant coordinates"
    )


def require_energy(twice: float, direction: Array) -> None:
    """Raise NotPositiveDefiniteError unless zᵀA z > 0 for a direction that a method has come to.

    Args:
        twice: zᵀA z.
        direction: z, shape (n,).
    """
    if not twice > 0.0:
        raise not_positive_definite(f"2T = {twice:.3g} at z = {np.array2string(direction, precision=3, threshold=6)}")


def known_start(start: Start) -> Start:
    """``start`` itself; raises ModelError if it is not one of :data:`STARTS`."""
    if start not in STARTS:
        raise ModelError(f"start must be one of {', '.join(map(repr, STARTS))}, got {start!r}")
    return start
