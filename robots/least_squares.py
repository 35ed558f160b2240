"""Gauss-Newton and Newton methods for small systems of equations, square or not, of full rank or not.

Both accept the equations as functions of arrays and are independent of robots; ``move`` steps along a curved space, if
the unknowns live on one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Move = Callable[[Array, Array], Array]

ITERATIONS = 100
PATIENCE = 10
"""Number of steps in which Gauss–Newton must halve the residual; slower progress is a ridge that leads nowhere."""
ZERO = 1e-10
"""Relative size of a singular value below which it counts as zero."""


@dataclass(frozen=True, eq=False)
class LeastSquaresResult:
    """Last iterate, whether or not the equations hold at it.

    Attributes:
        x: last iterate, shape (n,).
        residual: residual of the equations at x, shape (m,).
        iterations: number of steps.
    """

    x: Array
    residual: Array
    iterations: int

    @property
    def size(self) -> float:
        """Euclidean norm of the residual; infinite if it is not finite."""
        size = float(np.linalg.norm(self.residual))
        return size if np.isfinite(size) else np.inf


def flat_move(x: Array, step: Array) -> Array:
    """Return x + δ, the step in a flat space."""
    return x + step


def gauss_newton(
    evaluate: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    move: Move = flat_move,
    step_limit: float = np.inf,
    iterations: int = ITERATIONS,
) -> LeastSquaresResult:
    """Solve r(x) = 0 by steps of least norm, δ = −J⁺r, until rounding stops them.

    A step is cut to the limit and halved until ‖r‖ falls by a fraction of the decrease that J predicts. With a
    rank-deficient J that is consistent with the equations (dependent rows, or fewer rows than unknowns) convergence is
    quadratic; at a double root, such as a fold, it is linear and ends at the square root of the rounding error.

    Args:
        evaluate: x → r, shape (m,), and J = ∂r/∂δ, shape (m, n).
        start: initial x, shape (n,).
        move: x and δ, shape (n,), → x after the step.
        step_limit: largest entry of one step.
        iterations: largest number of steps.

    Returns:
        The last iterate; nothing is raised if the equations do not hold at it.
    """
    x, sizes = start, list[float]()
    r, J = evaluate(x)
    for count in range(iterations):
        size = float(np.linalg.norm(r))
        sizes.append(size)
        if count >= PATIENCE and size > sizes[-PATIENCE - 1] / 2:
            return LeastSquaresResult(x, r, count)
        rounding = np.finfo(np.float64).eps * np.abs(J).max(initial=0.0) * np.abs(x).max(initial=0.0)
        if not np.isfinite(size) or not np.isfinite(J).all() or size <= rounding:
            return LeastSquaresResult(x, r, count)
        step = _cut(np.linalg.lstsq(J, -r, rcond=ZERO)[0], step_limit)
        predicted = size - float(np.linalg.norm(r + J @ step))
        scale = 1.0
        while scale > 1e-6:
            trial = move(x, scale * step)
            residual, slope = evaluate(trial)
            if np.linalg.norm(residual) <= size - 1e-4 * scale * predicted and not np.array_equal(trial, x):
                break
            scale /= 2
        else:
            return LeastSquaresResult(x, r, count)
        x, r, J = trial, residual, slope
    return LeastSquaresResult(x, r, iterations)


def descend(
    curvature: Callable[[Array], tuple[Array, Array, Array]],
    start: Array,
    *,
    move: Move = flat_move,
    step_limit: float = np.inf,
    iterations: int = 2 * ITERATIONS,
) -> LeastSquaresResult:
    """Minimize f = ½‖r‖² by Newton's method with absolute curvatures, δ = −|H|⁻¹g.

    It needs exact second derivatives, and converges where Gauss–Newton stalls: quadratically to a minimum at which r
    does not vanish; it leaves saddles and maxima along their curvature, and every step is a descent.

    Args:
        curvature: x → r, shape (m,), g = ∂f/∂δ, shape (n,), and H = ∂²f/∂δ², shape (n, n).
        start: initial x, shape (n,).
        move: x and δ, shape (n,), → x after the step.
        step_limit: largest entry of one step.
        iterations: largest number of steps.

    Returns:
        The last iterate; a local minimum need not have r = 0.
    """
    x = start
    r, g, H = curvature(x)
    for count in range(iterations):
        f = float(r @ r) / 2
        if not (np.isfinite(f) and np.isfinite(H).all()) or f == 0.0:
            return LeastSquaresResult(x, r, count)
        values, vectors = np.linalg.eigh(H)
        flat = 1e-8 * float(np.abs(values).max(initial=0.0))
        if np.linalg.norm(g) <= 1e-10 * np.sqrt(2 * f * np.abs(values).max(initial=0.0)):
            if values.min(initial=0.0) >= -flat:
                return LeastSquaresResult(x, r, count)
            # At a saddle there is no slope, and both directions lead down: take a step large enough to leave it.
            step = 0.1 * vectors[:, 0]
        else:
            step = -vectors @ ((vectors.T @ g) / np.maximum(np.abs(values), flat))
        step = _cut(step, step_limit)
        slope = min(float(g @ step), 0.0)
        scale = 1.0
        while scale > 1e-6:
            trial = move(x, scale * step)
            terms = curvature(trial)
            if float(terms[0] @ terms[0]) / 2 < f + 1e-4 * scale * slope:
                break
            scale /= 2
        else:
            return LeastSquaresResult(x, r, count)
        x, (r, g, H) = trial, terms
    return LeastSquaresResult(x, r, iterations)


def _cut(step: NDArray[np.floating], limit: float) -> Array:
    largest = max(float(np.abs(step).max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.asarray(step * min(1.0, limit / largest), dtype=np.float64)
