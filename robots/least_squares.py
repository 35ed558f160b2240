"""Gauss-Newton and Newton methods for small systems of equations, square or not, of full rank or not.

Both take the equations as functions of arrays and know nothing of robots; ``move`` takes them along a curved space, if
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
"""Steps in which Gauss–Newton has to halve the misfit: it creeps along ridges that lead nowhere."""
ZERO = 1e-10
"""A singular value below this share of the largest one is not divided by."""


@dataclass(frozen=True, eq=False)
class LeastSquaresResult:
    """Where an iteration ended, whether or not the equations hold there.

    Attributes:
        x: the place, shape (n,).
        residual: of the equations there, shape (m,).
        iterations: how many steps were taken.
    """

    x: Array
    residual: Array
    iterations: int

    @property
    def size(self) -> float:
        """Euclidean length of the residual; infinite if it is not finite."""
        size = float(np.linalg.norm(self.residual))
        return size if np.isfinite(size) else np.inf


def flat_move(x: Array, step: Array) -> Array:
    """The step of a flat space, x + δ."""
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

    A step is cut to the limit and halved until ‖r‖ falls by a share of what J promises. With a rank-deficient J that
    fits the equations (dependent rows, or fewer rows than unknowns) convergence is quadratic; at a double root, such
    as a fold, it is linear and ends at the square root of the rounding.

    Args:
        evaluate: x → r, shape (m,), and J = ∂r/∂δ, shape (m, n).
        start: where to begin.
        move: x and δ, shape (n,), → the place a step away.
        step_limit: largest entry of one step.
        iterations: at most so many steps.

    Returns:
        The last place; nothing is raised if the equations do not hold there.
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
        promised = size - float(np.linalg.norm(r + J @ step))
        scale = 1.0
        while scale > 1e-6:
            place = move(x, scale * step)
            tried, slope = evaluate(place)
            if np.linalg.norm(tried) <= size - 1e-4 * scale * promised and not np.array_equal(place, x):
                break
            scale /= 2
        else:
            return LeastSquaresResult(x, r, count)
        x, r, J = place, tried, slope
    return LeastSquaresResult(x, r, iterations)


def descend(
    curvature: Callable[[Array], tuple[Array, Array, Array]],
    start: Array,
    *,
    move: Move = flat_move,
    step_limit: float = np.inf,
    iterations: int = 2 * ITERATIONS,
) -> LeastSquaresResult:
    """Go down to a minimum of f = ½‖r‖² by Newton's method with absolute curvatures, δ = −|H|⁻¹g.

    It needs the exact second derivatives, and in return it ends where Gauss–Newton stalls: it converges quadratically
    to a minimum at which r does not vanish, it leaves saddles and maxima along their curvature, and it is a descent
    everywhere.

    Args:
        curvature: x → r, shape (m,), g = ∂f/∂δ, shape (n,), and H = ∂²f/∂δ², shape (n, n).
        start: where to begin.
        move: x and δ, shape (n,), → the place a step away.
        step_limit: largest entry of one step.
        iterations: at most so many steps.

    Returns:
        The last place; a place with r = 0 is one minimum among others.
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
            # A saddle: there is no slope, so both ways down are as good; a kick that is large enough to matter.
            step = 0.1 * vectors[:, 0]
        else:
            step = -vectors @ ((vectors.T @ g) / np.maximum(np.abs(values), flat))
        step = _cut(step, step_limit)
        slope = min(float(g @ step), 0.0)
        scale = 1.0
        while scale > 1e-6:
            place = move(x, scale * step)
            tried = curvature(place)
            if float(tried[0] @ tried[0]) / 2 < f + 1e-4 * scale * slope:
                break
            scale /= 2
        else:
            return LeastSquaresResult(x, r, count)
        x, (r, g, H) = place, tried
    return LeastSquaresResult(x, r, iterations)


def _cut(step: NDArray[np.floating], limit: float) -> Array:
    largest = max(float(np.abs(step).max(initial=0.0)), np.finfo(np.float64).tiny)
    return np.asarray(step * min(1.0, limit / largest), dtype=np.float64)
