"""The optimal face: all inputs within limits that do as well as one found, in coordinates of its own."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotConvergedError
from .quadratic_program import QpSolution, QuadraticProgram

Array = NDArray[np.float64]

SILENT = 1e-8
"""Directions in which rows move by less than this share of the most do not count as moving them."""
DEPENDENT = 1e-6
"""Bounds depend on each other if a combination of them is less than this."""
ROUNDING = 1e-11
"""Share of what a multiplier is made of that may be rounding."""
KEPT = 1e-9
"""A bound is kept that is exceeded by less than this share of the inputs, or of one."""
PUSHING = 1e-8
"""A bound pushes whose multiplier is more than this share of all of them, and more than rounding makes of it,"""
REACHED = 1e-10
"""and rows are reached, so that no bound pushes, that are missed by less than this share of the largest, or of one."""
CHANGES = 6
"""So many times, less one, bounds that would have to pull are let go and those that are exceeded taken in."""


class ActiveSet(NamedTuple):
    """Bounds that the answer of a level is on, and those that push, as sides of :meth:`OptimalFace.sides`."""

    sides: Array
    pushing: Array


class OptimalFace:
    """x + Z z with low ≤ C · (x + Z z) ≤ high, where ZᵀZ = 1 and C = (1; rows): bounds of inputs, then limit rows.

    Z spans what changes nothing of what has been reached: first everything, and ever less. No equations are left for a
    solver, which near a corner would be more than independent ones.

    Attributes:
        x: a point of it, shape (n,).
    """

    def __init__(self, x: Array, lower: Array, upper: Array, rows: Array, least: Array, most: Array) -> None:
        """Everything within the limits.

        Args:
            x: a point near them, shape (n,).
            lower: bounds of x, shape (n,).
            upper: bounds of x, shape (n,).
            rows: shape (l, n).
            least: bounds of rows · x, shape (l,).
            most: bounds of rows · x, shape (l,).
        """
        self.x = np.minimum(np.maximum(x, lower), upper)
        self._lower, self._upper, self._rows, self._least, self._most = lower, upper, rows, least, most
        self._C = np.concatenate((_unit(len(x)), rows))
        self._low, self._high = np.concatenate((lower, least)), np.concatenate((upper, most))
        self._Z: Array | None = None

    @property
    def dimension(self) -> int:
        """How many numbers z are left; none where x is the only point."""
        return len(self.x) if self._Z is None else self._Z.shape[1]

    @property
    def is_whole(self) -> bool:
        """Whether nothing has been reached so far."""
        return self._Z is None

    def program(self, square: Array, slope: Array, eps: float = 0.0) -> QuadraticProgram:
        """Least ½ zᵀZᵀ(square + ε)Zz + slopeᵀZz, with the limits.

        Args:
            square: shape (n, n).
            slope: shape (n,), at ``x``.
            eps: makes it definite.
        """
        Z, x = self._Z, self.x
        H = square.copy() if Z is None else Z.T @ square @ Z
        H.flat[:: len(H) + 1] += eps
        if Z is None:
            reached = self._rows @ x
            return QuadraticProgram(
                H, slope, self._rows, self._least - reached, self._most - reached, self._lower - x, self._upper - x
            )
        # What has been reached must stay possible: z = 0 is, whatever rounding says.
        reached, unbound = self._C @ x, np.full(len(H), np.inf)
        low, high = np.minimum(self._low - reached, 0.0), np.maximum(self._high - reached, 0.0)
        return QuadraticProgram(H, slope @ Z, self._C @ Z, low, high, -unbound, unbound)

    def sides(self, answer: QpSolution) -> Array:
        """Of each bound the side on which it pushes: 1 the upper, −1 the lower, 0 neither; shape (n + l,).

        Args:
            answer: of :meth:`program`.
        """
        pushes = answer.multipliers[-len(self._C) :]
        return np.where(np.abs(pushes) > REACHED * np.abs(pushes).max(initial=0.0), np.sign(pushes), 0.0)

    def move(self, z: Array) -> None:
        """Make x + Z z the point.

        Args:
            z: shape (dimension of the face,).
        """
        self.x = np.minimum(np.maximum(self.x + (z if self._Z is None else self._Z @ z), self._lower), self._upper)

    def hold(self, rows: Array) -> None:
        """Keep rows · x as it is.

        Args:
            rows: shape (m, n).
        """
        _, values, directions = _svd(rows if self._Z is None else rows @ self._Z)
        kept = directions[_count(values, SILENT * _norm(rows)) :].T
        self._Z = kept if self._Z is None else self._Z @ kept

    def settle(self, sides: Array, gain: Array, right: Array) -> ActiveSet | None:
        """Move to the least |gain · x − right|² of this face, and keep to the points that do as well, if it is found.

        With the bounds known that push, there is no programme to be solved but linear least squares, and the signs of
        their multipliers to be looked at, and the other bounds; all of these together are the conditions of optimality,
        and so it does not matter how good a guess ``sides`` was. Bounds that push are kept to from now on, because the
        slope of the sum of squares is a sum of them.

        Args:
            sides: of the bounds that are thought to push, as of :meth:`sides`.
            gain: shape (m, n).
            right: shape (m,).

        Returns:
            The bounds that it was found with; None, with nothing changed, if it was not.
        """
        size, Z, C = _norm(gain), self._Z, self._C
        for _ in range(CHANGES):
            on = sides.nonzero()[0]
            split = self._split(on)
            if split is None:
                return None
            inverse, directions = split
            x = self.x
            if len(on):
                bound = np.where(sides > 0.0, self._high, self._low)[on]
                if not math.isfinite(np.vdot(bound, bound)):
                    return None
                z = inverse @ (bound - C[on] @ x)
                x = x + (z if Z is None else Z @ z)
            inner, strengths, outer = _svd(gain @ directions)
            strong = _count(strengths, SILENT * size)
            x = x + directions @ (((right - gain @ x) @ inner[:, :strong] / strengths[:strong]) @ outer[:strong])
            rest = right - gain @ x
            reached = np.vdot(rest, rest) <= REACHED**2 * (1.0 + np.vdot(right, right))
            pushing = np.zeros(len(sides)) if reached else sides
            if not reached and len(on):
                slope = rest @ gain
                pushes = (slope if Z is None else slope @ Z) @ inverse * sides[on]
                rounding = PUSHING * _norm(pushes) + ROUNDING * size * _norm(rest)
                least = pushes.min()
                if least < -rounding:
                    sides = sides.copy()
                    sides[on[pushes < -rounding]] = 0.0
                    continue
                if least <= rounding:
                    pushing = sides.copy()
                    pushing[on[pushes <= rounding]] = 0.0
            over, under = (value := C @ x) - self._high, self._low - value
            excess, room = np.maximum(over, under), KEPT * (1.0 + _norm(x))
            if excess.max() > room:
                sides = np.where(excess > room, np.where(over > under, 1.0, -1.0), sides)
                continue
            self.x = np.minimum(np.maximum(x, self._lower), self._upper)
            if pushing is sides:
                self._Z = directions @ outer[strong:].T
                self._low[on], self._high[on] = -np.inf, np.inf
            else:
                some = pushing.nonzero()[0]
                self.hold(np.concatenate((C[some], gain)))
                self._low[some], self._high[some] = -np.inf, np.inf
            return ActiveSet(sides if reached else pushing, pushing)
        return None

    def ease(self, H: Array) -> bool:
        """Move to the least ½ xᵀHx, if no bound keeps it from there; whether it did.

        Args:
            H: shape (n, n), positive definite.
        """
        Z = _unit(len(self.x)) if self._Z is None else self._Z
        ZH = Z.T @ H
        x = self.x - Z @ np.linalg.solve(ZH @ Z, ZH @ self.x)
        value, room = self._C @ x, KEPT * (1.0 + _norm(x))
        if (value - self._high).max() > room or (self._low - value).max() > room:
            return False
        self.x = np.minimum(np.maximum(x, self._lower), self._upper)
        return True

    def _split(self, on: NDArray[np.intp]) -> tuple[Array, Array] | None:
        """Coordinates z in which these bounds are equations: the inverse of their rows, and what they leave free.

        Args:
            on: places of bounds.
        """
        n, d, k, Z = len(self.x), self.dimension, len(on), self._Z
        if k > d:
            return None
        if Z is None and (k == 0 or on[-1] < n):
            off = np.ones(n, dtype=np.bool_)
            off[on] = False
            return self._C[:n, on], self._C[:n, :n][:, off]
        if Z is not None and k == 0:
            return np.zeros((d, 0)), Z
        left, values, right = _svd(self._C[on] if Z is None else self._C[on] @ Z)
        if not values[-1] > DEPENDENT:
            return None
        directions = right[k:].T if Z is None else Z @ right[k:].T
        return (right[:k].T / values) @ left.T, directions


def _svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Full singular value decomposition; `np.linalg.svd` takes twice as long for so small a matrix."""
    if not matrix.size:
        return _unit(len(matrix)), np.zeros(0), _unit(matrix.shape[1])
    found = _dgesdd()(matrix)
    if found[3] != 0:
        raise NotConvergedError(f"the singular value decomposition of a matrix {matrix.shape} ended with {found[3]}")
    return found[:3]


def _norm(array: Array) -> float:
    return math.sqrt(np.vdot(array, array))


def _count(descending: Array, least: float) -> int:
    """How many are greater."""
    return len(descending) if descending.size and descending[-1] > least else int(np.count_nonzero(descending > least))


@functools.cache
def _dgesdd() -> Callable[[Array], tuple[Array, Array, Array, int]]:
    """LAPACK's decomposition, looked up once: an import takes long, and even a repeated one as long as a matrix."""
    from scipy.linalg import lapack

    function: Callable[[Array], tuple[Array, Array, Array, int]] = lapack.dgesdd
    return function


@functools.cache
def _unit(n: int) -> Array:
    unit = np.eye(n)
    unit.setflags(write=False)
    return unit
