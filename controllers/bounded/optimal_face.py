"""The optimal face: all inputs within limits that are as good as a given one, in reduced coordinates."""

from __future__ import annotations

import copy
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
"""Directions in which rows change by less than this share of the most count as without effect."""
DEPENDENT = 1e-6
"""Bounds depend on each other if a combination of them is less than this."""
ROUNDING = 1e-11
"""Rounding in a multiplier, as a share of its terms."""
KEPT = 1e-9
"""A bound counts as satisfied if it is exceeded by less than this share of the inputs, or of one."""
PUSHING = 1e-8
"""A bound is active if its multiplier is more than this share of all of them, and more than rounding,"""
REACHED = 1e-10
"""and rows are satisfied, so that no bound is active, up to this share of the largest, or of one."""
CHANGES = 6
"""Number of trials of an active set; between them bounds with wrong signs are released and exceeded ones added."""


class ActiveSet(NamedTuple):
    """Bounds that the answer of a level lies on, and active ones, as sides of :meth:`OptimalFace.sides`."""

    sides: Array
    pushing: Array


class OptimalFace:
    """x + Z z with low ≤ C · (x + Z z) ≤ high, where ZᵀZ = 1 and C = (1; rows): bounds of inputs, then limit rows.

    Z spans the directions that preserve the results of earlier levels: at first all, then fewer. A solver gets no
    equations, which could become dependent near a corner.

    Attributes:
        x: a point of the face, shape (n,).
    """

    def __init__(self, x: Array, lower: Array, upper: Array, rows: Array, least: Array, most: Array) -> None:
        """Start with all inputs within the limits.

        Args:
            x: a point near the limits, shape (n,).
            lower: lower bounds of x, shape (n,).
            upper: upper bounds of x, shape (n,).
            rows: limit rows, shape (l, n).
            least: lower bounds of rows · x, shape (l,).
            most: upper bounds of rows · x, shape (l,).
        """
        self.x = np.minimum(np.maximum(x, lower), upper)
        self._lower, self._upper, self._rows = lower, upper, rows
        self._C = np.concatenate((_unit(len(x)), rows))
        self._low, self._high = np.concatenate((lower, least)), np.concatenate((upper, most))
        self._Z: Array | None = None

    def copy(self) -> OptimalFace:
        """Return a face that can be moved and restricted apart from this one."""
        other = copy.copy(self)
        other._low, other._high = self._low.copy(), self._high.copy()
        return other

    def bound(self, rows: NDArray[np.intp], least: Array | float, most: Array | float) -> None:
        """Replace the bounds of some limit rows.

        Args:
            rows: indices of the limit rows, shape (k,).
            least: lower bounds, shape (k,).
            most: upper bounds, shape (k,).
        """
        at = len(self.x) + rows
        self._low[at], self._high[at] = least, most

    @property
    def dimension(self) -> int:
        """Dimension of z; 0 where x is the only point."""
        return len(self.x) if self._Z is None else self._Z.shape[1]

    @property
    def is_whole(self) -> bool:
        """True if no level has been fixed so far."""
        return self._Z is None

    def program(self, square: Array, slope: Array, eps: float = 0.0) -> QuadraticProgram:
        """Return the programme of least ½ zᵀZᵀ(square + ε)Zz + slopeᵀZz under the limits.

        Args:
            square: Hessian, shape (n, n).
            slope: gradient at ``x``, shape (n,).
            eps: ε, which makes the Hessian definite.
        """
        Z, x = self._Z, self.x
        H = square.copy() if Z is None else Z.T @ square @ Z
        H.flat[:: len(H) + 1] += eps
        if Z is None:
            reached, n = self._rows @ x, len(x)
            low, high = self._low[n:] - reached, self._high[n:] - reached
            return QuadraticProgram(H, slope, self._rows, low, high, self._lower - x, self._upper - x)
        # Earlier results must remain feasible: z = 0 is, despite rounding.
        reached, unbound = self._C @ x, np.full(len(H), np.inf)
        low, high = np.minimum(self._low - reached, 0.0), np.maximum(self._high - reached, 0.0)
        return QuadraticProgram(H, slope @ Z, self._C @ Z, low, high, -unbound, unbound)

    def relaxation(self, rows: NDArray[np.intp], least: Array, most: Array, eps: float) -> QuadraticProgram:
        """Return the programme of least ½ |s|² + ½ ε |z|² with least ≤ rows · (x + Z z) + s ≤ most under the limits.

        Args:
            rows: indices of the limit rows that may be exceeded, shape (k,).
            least: their lower bounds, shape (k,).
            most: their upper bounds, shape (k,).
            eps: ε, which makes the Hessian definite.

        Returns:
            The programme in (z, s).
        """
        Z, n, k, d = self._Z, len(self.x), len(rows), self.dimension
        reached = self._C @ self.x
        low, high = self._low - reached, self._high - reached
        if Z is not None:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        low[n + rows], high[n + rows] = least - reached[n + rows], most - reached[n + rows]
        slack = np.zeros((len(reached), k))
        slack[n + rows, range(k)] = 1.0
        H, unbound = np.diag(np.concatenate((np.full(d, eps), np.ones(k)))), np.full(d + k, np.inf)
        if Z is not None:
            A = np.hstack((self._C @ Z, slack))
            return QuadraticProgram(H, np.zeros(d + k), A, low, high, -unbound, unbound)
        A, free = np.hstack((self._rows, slack[n:])), unbound[n:]
        lower, upper = np.concatenate((low[:n], -free)), np.concatenate((high[:n], free))
        return QuadraticProgram(H, np.zeros(d + k), A, low[n:], high[n:], lower, upper)

    def sides(self, answer: QpSolution) -> Array:
        """Return the active side of each bound: 1 the upper, −1 the lower, 0 neither; shape (n + l,).

        Args:
            answer: answer of the solver for :meth:`program`.
        """
        pushes = answer.multipliers[-len(self._C) :]
        return np.where(np.abs(pushes) > REACHED * np.abs(pushes).max(initial=0.0), np.sign(pushes), 0.0)

    def move(self, z: Array) -> None:
        """Move x to x + Z z.

        Args:
            z: step, shape (dimension of the face,).
        """
        self.x = np.minimum(np.maximum(self.x + (z if self._Z is None else self._Z @ z), self._lower), self._upper)

    def hold(self, rows: Array) -> None:
        """Fix rows · x at its present value.

        Args:
            rows: rows to fix, shape (m, n).
        """
        _, values, directions = _svd(rows if self._Z is None else rows @ self._Z)
        kept = directions[_count(values, SILENT * _norm(rows)) :].T
        self._Z = kept if self._Z is None else self._Z @ kept

    def settle(self, sides: Array, gain: Array, right: Array) -> ActiveSet | None:
        """Move to the least |gain · x − right|² of this face and restrict the face to the minimizers, if found.

        With known active bounds only linear least squares must be solved, and the signs of their multipliers and the
        other bounds checked; together these are the conditions of optimality, so the result does not depend on the
        quality of the guess ``sides``. Active bounds are fixed from now on, because the gradient of the sum of squares
        is a combination of them.

        Args:
            sides: guess of the active bounds, as from :meth:`sides`.
            gain: rows, shape (m, n).
            right: right side, shape (m,).

        Returns:
            The active bounds; None, with nothing changed, if the minimum was not found.
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
        """Move to the least ½ xᵀHx if no bound prevents it; return True if it moved.

        Args:
            H: effort matrix, positive definite, shape (n, n).
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
        """Return the pseudo-inverse of these bounds' rows in z, and a basis of the directions they leave free.

        Args:
            on: indices of the bounds.
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
    """Return the full singular value decomposition, in half the time of `np.linalg.svd` for small matrices."""
    if not matrix.size:
        return _unit(len(matrix)), np.zeros(0), _unit(matrix.shape[1])
    found = _dgesdd()(matrix)
    if found[3] != 0:
        raise NotConvergedError(f"the singular value decomposition of a matrix {matrix.shape} ended with {found[3]}")
    return found[:3]


def _norm(array: Array) -> float:
    return math.sqrt(np.vdot(array, array))


def _count(descending: Array, least: float) -> int:
    """Return the number of values greater than ``least``."""
    return len(descending) if descending.size and descending[-1] > least else int(np.count_nonzero(descending > least))


@functools.cache
def _dgesdd() -> Callable[[Array], tuple[Array, Array, Array, int]]:
    """Return LAPACK's decomposition, looked up once: even a repeated import costs as much as a decomposition."""
    from scipy.linalg import lapack

    function: Callable[[Array], tuple[Array, Array, Array, int]] = lapack.dgesdd
    return function


@functools.cache
def _unit(n: int) -> Array:
    unit = np.eye(n)
    unit.setflags(write=False)
    return unit
