"""Solvers of the Legendre transform's quadratic programme: direct, conjugate directions, minimal residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError, NotConvergedError
from ...symbolic.validation import not_negative, positive, vector
from .operation_count import OperationCount
from .quadratic_form import FactoredForm, NotPositiveDefiniteError, QuadraticForm

Array = NDArray[np.float64]
Start = Literal["last", "extrapolated"]
"""First guess along a motion: z of the previous step, or linear extrapolation from the two previous steps."""
STARTS: tuple[Start, ...] = ("last", "extrapolated")


@dataclass(frozen=True, eq=False)
class LegendreSolution:
    """Velocities from momenta, and the cost of the computation.

    Attributes:
        z: maximizer, shape (n,).
        iterations: steps of an iterative method; 0 for a direct one, or if the start was accurate enough.
        operations: all arithmetic of the method, including products A z, matrices and factorizations of the form, but
            not that of ``residual``, which is for reporting only.
        residual: ‖A z − b‖, recomputed from the data, in the unit of the momenta.
        target: requested residual; infinite for a direct method.
        converged: True if the residual is within the target.
    """

    z: Array
    iterations: int
    operations: OperationCount
    residual: float
    target: float
    converged: bool

    def __post_init__(self) -> None:
        """Freeze the velocities."""
        self.z.setflags(write=False)


class LegendreSolver(ABC):
    """Solver for z* = arg max_z [bᵀz − ½ zᵀA z], the solution of A z = b, for a positive definite A.

    This is [DunskayaPyatnitsky1996]_ eq. (3.2) with b = p − a, where p are the momenta and a the coefficients of the
    velocities in the Lagrangian; the constant L₀ has no effect on the maximizer. The Hamiltonian is ½ bᵀz* − L₀.
    """

    @abstractmethod
    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve, and report whether the solver converged.

        Args:
            form: quadratic form with A.
            right: b, shape (n,).
            start: first guess of z, shape (n,), such as z of the last step; zero if not given. Not used by a direct
                method.

        Returns:
            The solution, whose ``converged`` is False if the iterations ran out.

        Raises:
            ShapeError: for a wrong shape, or a number that is not finite.
            NotPositiveDefiniteError: if A is not positive definite. A direct method always detects it; an iterative one
                only if it encounters a direction z with zᵀA z ≤ 0.
        """

    def solve(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve, or raise an error.

        Args:
            form: quadratic form with A.
            right: b, shape (n,).
            start: first guess of z, shape (n,); zero if not given.

        Raises:
            NotConvergedError: if the residual is not within the target.
            ShapeError, NotPositiveDefiniteError: as for :meth:`attempt`.
        """
        solution = self.attempt(form, right, start)
        if not solution.converged:
            raise NotConvergedError(
                f"{self} reached a residual of {solution.residual:.3g} after {solution.iterations} iterations, but the "
                f"target is {solution.target:.3g}. Allow more iterations or a larger tolerance, or use Cholesky, which "
                "needs no iterations"
            )
        return solution


def problem_arrays(form: QuadraticForm, right: ArrayLike, start: ArrayLike | None) -> tuple[Array, Array]:
    """Return b and the first guess as new arrays of shape (n,); raises ShapeError."""
    b = vector("right", right, form.size)
    return b, np.zeros(form.size) if start is None else vector("start", start, form.size)


def residual_norm(form: QuadraticForm, z: Array, right: Array) -> float:
    """Return ‖A z − b‖."""
    return float(np.linalg.norm(form.product(z) - right))


def not_positive_definite(reason: str) -> NotPositiveDefiniteError:
    """Return the error for a form that is not positive definite."""
    return NotPositiveDefiniteError(
        f"the kinetic energy is not a positive definite form of the velocities: {reason}. Check masses and inertias, "
        "and remove redundant coordinates"
    )


def require_energy(twice: float, direction: Array) -> None:
    """Raise NotPositiveDefiniteError unless zᵀA z > 0 for a direction of the iteration.

    Args:
        twice: zᵀA z.
        direction: z, shape (n,).
    """
    if not twice > 0.0:
        raise not_positive_definite(f"2T = {twice:.3g} at z = {np.array2string(direction, precision=3, threshold=6)}")


def require_start(start: Start) -> Start:
    """Return ``start``; raises ModelError if it is not one of :data:`STARTS`."""
    if start not in STARTS:
        raise ModelError(f"start must be one of {', '.join(map(repr, STARTS))}, got {start!r}")
    return start


@dataclass(frozen=True)
class Cholesky(LegendreSolver):
    """Direct: A = L Lᵀ of the whole matrix, then two triangular systems; about n³/6 + n² multiplications.

    Attributes:
        tolerance: A is singular if a pivot L_ii² is not above this fraction of A_ii.
    """

    tolerance: float = 1e-13

    def __post_init__(self) -> None:
        """Check the number."""
        not_negative("tolerance", self.tolerance)

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve exactly up to rounding; the start is checked and not used."""
        from scipy import linalg  # slow to import

        b, _ = problem_arrays(form, right, start)
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
            operations=form.matrix_cost + cholesky_count(form.size),
            residual=residual_norm(form, z, b),
            target=np.inf,
            converged=bool(np.isfinite(z).all()),
        )


def cholesky_count(n: int) -> OperationCount:
    """Count the arithmetic of factorization and both triangular systems of n equations.

    The factorization takes (n³ − n)/6 multiplications and as many subtractions, n(n − 1)/2 divisions and n roots; the
    triangular systems n(n − 1) multiplications and subtractions, and 2n divisions.
    """
    inner = (n**3 - n) // 6 + n * (n - 1)
    return OperationCount(inner + n * (n - 1) // 2 + n + 2 * n, inner)


@dataclass(frozen=True)
class ConjugateDirections(LegendreSolver):
    """Conjugate gradients: each step maximizes along a direction d with dᵀA d′ = 0 for all previous d′.

    Exact arithmetic ends after at most n steps; with rounding an ill-conditioned A may need more. It stops at
    ‖A z − b‖ ≤ max(relative ‖b‖, absolute). A recursive residual that drifted is detected when it is recomputed at the
    end; the directions are then restarted.

    Attributes:
        relative: target of the residual relative to ‖b‖.
        absolute: target of the residual for any b, in the unit of the momenta.
        cycles: the largest number of steps is this multiple of n.
    """

    relative: float = 1e-10
    absolute: float = 0.0
    cycles: int = 4

    def __post_init__(self) -> None:
        """Check the numbers."""
        not_negative("relative", self.relative)
        not_negative("absolute", self.absolute)
        if self.cycles < 1:
            raise ModelError(f"cycles must be at least 1, got {self.cycles!r}")

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve by at most ``cycles`` n steps of one product A d each."""
        b, z = problem_arrays(form, right, start)
        n = form.size
        target = max(self.relative * float(np.linalg.norm(b)), self.absolute)
        count = form.product_setup + OperationCount.of_inner_product(n) + OperationCount(multiplications=3)
        iterations, residual = 0, np.inf
        while True:
            y = form.product(z) - b
            count += form.product_cost + OperationCount(additions=n) + OperationCount.of_inner_product(n)
            d, square = -y, float(y @ y)
            while square > target**2 and iterations < self.cycles * n:
                Ad = form.product(d)
                energy = float(d @ Ad)
                require_energy(energy, d)
                alpha = square / energy
                z = z + alpha * d
                y = y + alpha * Ad
                before, square = square, float(y @ y)
                d = square / before * d - y
                iterations += 1
                count += form.product_cost + conjugate_directions_count(n)
            before, residual = residual, residual_norm(form, z, b)
            if residual <= target or iterations >= self.cycles * n or not residual < before:
                break
        return LegendreSolution(z, iterations, count, residual, target, residual <= target)


def conjugate_directions_count(n: int) -> OperationCount:
    """Count the arithmetic of one step without its product: two inner products, three updates and two quotients."""
    return 2 * OperationCount.of_inner_product(n) + 3 * OperationCount.of_update(n) + OperationCount(multiplications=2)


@dataclass(frozen=True)
class StructuredElimination(LegendreSolver):
    """Direct: the factorization provided by the form, O(n) if its structure allows.

    A planar chain is eliminated from the tip to the base; a robot has its factorized mass matrix.
    """

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve exactly up to rounding; the start is checked and not used.

        Raises:
            ModelError: if the form does not provide a factorization.
        """
        b, _ = problem_arrays(form, right, start)
        if not isinstance(form, FactoredForm):
            raise ModelError(f"StructuredElimination requires a FactoredForm, got {type(form).__name__}; use Cholesky")
        z = form.eliminate(b)
        if b.any():
            require_energy(float(b @ z), z)
        return LegendreSolution(
            z=z,
            iterations=0,
            operations=form.eliminate_cost,
            residual=residual_norm(form, z, b),
            target=np.inf,
            converged=bool(np.isfinite(z).all()),
        )


@dataclass(frozen=True)
class MinimalResiduals(LegendreSolver):
    """ξ_{m+1} = ξ_m − γ_m y_m with y_m = A ξ_m − b and γ_m = (A y, y)/(A y, A y), which minimizes ‖y_{m+1}‖.

    [DunskayaPyatnitsky1996]_ eqs. (3.3), (3.4), corrected: ξ₀ is the start, a guess of the velocities, and γ̄ is an
    upper bound of every γ_m. The residual decreases at least by the factor (κ − 1)/(κ + 1) in each step, κ the
    condition number of A, so that each digit takes at most about κ steps.

    It stops at ‖y_m‖ ≤ ε/γ̄, and then ‖ξ_{m+1} − ξ_m‖ ≤ ε. All γ_m are between 1/λ_max and 1/λ_min, with the eigenvalues
    λ of A. With γ̄ = 1/λ_min the same condition bounds the error itself: ‖ξ_m − z*‖ ≤ ε; a smaller γ̄ does not.

    Attributes:
        tolerance: ε, in the unit of the velocities.
        step_bound: γ̄, in the unit of velocity by momentum; 1/λ_min or more is always valid, and for a chain in absolute
            angles λ_min is at least the smallest moment of inertia. None to test γ_m ‖y_m‖ ≤ ε itself: that is the
            printed condition ‖ξ_{m+1} − ξ_m‖ ≤ ε, which detects slow steps rather than convergence; the error may be κ
            times as large.
        limit: largest number of steps.
    """

    tolerance: float
    step_bound: float | None
    limit: int = 10_000

    def __post_init__(self) -> None:
        """Check the numbers."""
        positive("tolerance", self.tolerance)
        if self.step_bound is not None:
            positive("step_bound", self.step_bound)
        if self.limit < 1:
            raise ModelError(f"limit must be at least 1, got {self.limit!r}")

    def attempt(self, form: QuadraticForm, right: ArrayLike, start: ArrayLike | None = None) -> LegendreSolution:
        """Solve by at most ``limit`` steps of one product A y each.

        Raises:
            NotConvergedError: if a γ_m exceeds ``step_bound``, which invalidates the stopping condition.
        """
        b, z = problem_arrays(form, right, start)
        n, iterations, residual = form.size, 0, np.inf
        target = 0.0 if self.step_bound is None else self.tolerance / self.step_bound
        count = form.product_setup + OperationCount(multiplications=2)
        while True:
            y = form.product(z) - b
            count += form.product_cost + OperationCount(additions=n) + OperationCount.of_inner_product(n)
            square = float(y @ y)
            while square > target**2 and iterations < self.limit:
                Ay = form.product(y)
                gamma = self._gamma(float(Ay @ y), float(Ay @ Ay), y)
                z = z - gamma * y
                y = y - gamma * Ay
                if self.step_bound is None:
                    # The condition is a small step, whatever ‖y‖ is.
                    target = max(target, self.tolerance / gamma) if gamma**2 * square <= self.tolerance**2 else target
                square = float(y @ y)
                iterations += 1
                count += (
                    form.product_cost
                    + minimal_residuals_count(n)
                    + OperationCount(multiplications=2 * (self.step_bound is None))
                )
            before, residual = residual, residual_norm(form, z, b)
            if residual <= target or iterations >= self.limit or not residual < before:
                break
        return LegendreSolution(z, iterations, count, residual, target, residual <= target)

    def _gamma(self, energy: float, square: float, y: Array) -> float:
        require_energy(energy, y)
        gamma = energy / square
        if self.step_bound is not None and gamma > self.step_bound * (1.0 + 1e-9):
            raise NotConvergedError(
                f"step_bound must be an upper bound of every γ, got {self.step_bound:.6g}, but γ = {gamma:.6g}; "
                "use 1/λ_min of the mass matrix, or None"
            )
        return gamma


def minimal_residuals_count(n: int) -> OperationCount:
    """Count the arithmetic of one step without its product: three inner products, two updates and a quotient."""
    return 3 * OperationCount.of_inner_product(n) + 2 * OperationCount.of_update(n) + OperationCount(multiplications=1)
