"""Newton's method with two guards: against steps that do not help, and against steps that lead to another root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ITERATIONS = 60
EXACT = 1e-13
"""Share of the size of x at which the misfit counts as rounding."""
ACCEPTED = 1e-8
"""Share of the size of x below which a misfit that falls no further is a root."""
CONTRACTION = 0.25
"""Each full step on a branch must leave at most this share of the misfit; else its start was too far away."""


@dataclass(frozen=True, eq=False)
class Values:
    """Equations F(x) = 0 at one place.

    Attributes:
        misfit: F, in the units of x, shape (n,).
        slope: ∂F/∂x, shape (n, n).
        metric: positive semidefinite, shape (n, n): lengths of x and F are taken in it.
        size: the length in the metric that F is small or large beside.
    """

    misfit: Array
    slope: Array
    metric: Array
    size: float

    @property
    def length(self) -> float:
        """|F| in the metric; infinite if it is no number."""
        square = float(self.misfit @ self.metric @ self.misfit)
        return float(np.sqrt(max(square, 0.0))) if np.isfinite(square) else np.inf

    @property
    def relative(self) -> float:
        """|F| as a share of the size."""
        length = self.length
        return length / self.size if self.size > 0.0 else (0.0 if length == 0.0 else np.inf)


@dataclass(frozen=True, eq=False)
class Root:
    """Where an iteration ended.

    Attributes:
        x: the place, shape (n,).
        found: whether it is a root.
        relative: |F| there as a share of the size.
        iterations: steps taken.
    """

    x: Array
    found: bool
    relative: float
    iterations: int


Evaluate = Callable[[Array], Values]


def newton_to_a_root(evaluate: Evaluate, start: Array, iterations: int = ITERATIONS) -> Root:
    """Some root, from a start that may be far away: each step is halved until |F| falls by a share of it.

    Where Newton's own direction does not help, that of the fixed-point step, x + F, is taken.

    Args:
        evaluate: x → F, its slope, and the metric.
        start: where to begin, shape (n,).
        iterations: at most so many steps.
    """
    x, values = start, evaluate(start)
    for count in range(iterations):
        length = values.length
        if not np.isfinite(length) or values.relative <= EXACT:
            return Root(x, bool(np.isfinite(length)), values.relative, count)
        for direction in (_newton_step(values), values.misfit):
            scale = 1.0
            while scale > 1e-4:
                place = x + scale * direction
                tried = evaluate(place)
                if tried.length <= (1.0 - 0.1 * scale) * length:
                    break
                scale /= 2
            else:
                continue
            break
        else:
            return Root(x, values.relative <= ACCEPTED, values.relative, count)
        x, values = place, tried
    return Root(x, values.relative <= ACCEPTED, values.relative, iterations)


def newton_on_a_branch(evaluate: Evaluate, start: Array, iterations: int = ITERATIONS) -> Root:
    """The root next to the start, or none: full steps only, each of which must leave at most a quarter of |F|.

    This is the step control of continuation methods, [Deuflhard2011]_ chapter 5: the start lies in the region in which
    Newton's method contracts, and so belongs to that root and no other.

    Args:
        evaluate: x → F, its slope, and the metric.
        start: where to begin, shape (n,).
        iterations: at most so many steps.
    """
    x, values = start, evaluate(start)
    for count in range(iterations):
        length = values.length
        if not np.isfinite(length) or values.relative <= EXACT:
            return Root(x, bool(np.isfinite(length)), values.relative, count)
        place = x + _newton_step(values)
        tried = evaluate(place)
        if not tried.length <= CONTRACTION * length:
            return Root(x, values.relative <= ACCEPTED, values.relative, count)
        x, values = place, tried
    return Root(x, values.relative <= ACCEPTED, values.relative, iterations)


def newton_along(
    at: Callable[[float], Evaluate],
    start: Array,
    accepts: Callable[[float, Array], bool],
    shortest: float,
) -> tuple[Root, float]:
    """The root at share 1 of a way, followed from the one at share 0 in pieces as long as Newton's method allows.

    Args:
        at: share of the way → x → F, its slope, and the metric.
        start: the root at share 0, shape (n,).
        accepts: whether a root at a share belongs to the same branch as those before it.
        shortest: a piece below which the branch has ended.

    Returns:
        The root at share 1, and 1; or the last place from which there was none, and its share.
    """
    x, done, piece, count = start, 0.0, 1.0, 0
    while True:
        goal = min(1.0, done + piece)
        root = newton_on_a_branch(at(goal), x)
        count += root.iterations
        if root.found and accepts(goal, root.x):
            if goal == 1.0:
                return Root(root.x, True, root.relative, count), 1.0
            x, done, piece = root.x, goal, 2 * piece
        else:
            piece /= 2
            if piece < shortest:
                return Root(x, False, root.relative, count), done


def _newton_step(values: Values) -> Array:
    if not np.isfinite(values.slope).all():
        return np.full(values.misfit.shape, np.nan)
    try:
        return np.asarray(np.linalg.solve(values.slope, -values.misfit), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(values.misfit.shape, np.nan)
