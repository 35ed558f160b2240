"""The inputs that do as well as one that has been found: a face of what limits leave, in coordinates of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .quadratic_program import QpAnswer, QuadraticProgram

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

WEAK = 1e-6
"""Directions in which rows move by less than this share of the most are left as they are found."""
SILENT = 1e-11
"""And by less than this they do not move them at all."""
KEPT = 1e-9
"""A bound is kept that is exceeded by less than this share of the inputs, or of one."""
PUSHING = 1e-8
"""A bound pushes whose multiplier is more than this share of the largest, or of what rounding makes of them,"""
REACHED = 1e-10
"""and rows are reached, so that no bound pushes, that are missed by less than this share of the largest, or of one."""
CHANGES = 3
"""So many times bounds are let go that would have to pull."""


class Face:
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
        self._C = np.vstack((np.eye(len(x)), rows))
        self._low, self._high = np.concatenate((lower, least)), np.concatenate((upper, most))
        self._Z: Array | None = None
        self._open = np.ones(len(self._C), dtype=np.bool_)

    @property
    def is_free(self) -> bool:
        """Whether there is more than one point left."""
        return self._Z is None or self._Z.shape[1] > 0

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
        low = np.where(self._open, np.minimum(self._low - reached, 0.0), -np.inf)
        high = np.where(self._open, np.maximum(self._high - reached, 0.0), np.inf)
        return QuadraticProgram(H, slope @ Z, self._C @ Z, low, high, -unbound, unbound)

    def sides(self, answer: QpAnswer) -> Array:
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

    def hold(self, rows: Array, let: Mask | None = None) -> None:
        """Keep rows · x as it is.

        Args:
            rows: shape (m, n).
            let: bounds that are no longer looked at, shape (n + l,).
        """
        if let is not None:
            self._open &= ~let
        beside = rows if self._Z is None else rows @ self._Z
        _, values, directions = np.linalg.svd(beside)
        size = float(np.sqrt(np.vdot(rows, rows)))
        kept = directions[np.count_nonzero(values > SILENT * size) :].T
        self._Z = kept if self._Z is None else self._Z @ kept

    def settle(self, sides: Array, gain: Array, right: Array, *, weak: bool = False) -> Array | None:
        """Move to the least |gain · x − right|² of this face, and keep to the points that do as well, if it is found.

        With the bounds known that push, there is no programme to be solved but linear least squares, and the signs of
        their multipliers to be looked at, and the other bounds. Those that push are kept to from now on, because the
        slope of the sum of squares is a sum of them.

        Args:
            sides: of the bounds that are thought to push, as of :meth:`sides`.
            gain: shape (m, n).
            right: shape (m,).
            weak: whether it may be left open how far to go in directions in which the rows hardly move.

        Returns:
            The sides of the bounds that push; None, with nothing changed, if it was not found.
        """
        size = float(np.sqrt(np.vdot(gain, gain)))
        for _ in range(CHANGES):
            on = np.flatnonzero(sides)
            bound = np.where(sides[on] > 0.0, self._high[on], self._low[on])
            B = self._C[on] if self._Z is None else self._C[on] @ self._Z
            k, d = B.shape
            if k > d or not np.isfinite(bound).all():
                return None
            x, directions = self.x, self._Z
            if k:
                left, values, right_basis = np.linalg.svd(B)
                if values[-1] <= WEAK:
                    return None
                z = ((bound - self._C[on] @ x) @ left / values) @ right_basis[:k]
                x = x + (z if self._Z is None else self._Z @ z)
                directions = right_basis[k:].T if self._Z is None else self._Z @ right_basis[k:].T
            inner, strengths, outer = np.linalg.svd(gain if directions is None else gain @ directions)
            strong = int(np.count_nonzero(strengths > WEAK * size))
            audible = int(np.count_nonzero(strengths > SILENT * size))
            if strong < audible and not weak:
                return None
            change = ((right - gain @ x) @ inner[:, :strong] / strengths[:strong]) @ outer[:strong]
            x = x + (change if directions is None else directions @ change)
            rest = right - gain @ x
            reached = bool(np.abs(rest).max() <= REACHED * (1.0 + np.abs(right).max()))
            slope = rest @ gain if self._Z is None else rest @ gain @ self._Z
            pushes = left @ (right_basis[:k] @ slope / values) * sides[on] if k else slope[:0]
            rounding = PUSHING * max(float(np.abs(pushes).max(initial=0.0)), size * REACHED)
            if not reached and (pushes < -rounding).any():
                sides = sides.copy()
                sides[on[pushes < -rounding]] = 0.0
                continue
            value, room = self._C @ x, KEPT * (1.0 + np.abs(x).max())
            if not ((value >= self._low - room) & (value <= self._high + room) | ~self._open).all():
                return None
            pushing = np.zeros(len(sides))
            pushing[on] = 0.0 if reached else np.where(pushes > rounding, sides[on], 0.0)
            self.x = np.minimum(np.maximum(x, self._lower), self._upper)
            if not reached and (pushing[on] != 0.0).all():
                Z = outer[audible:].T
                self._Z = Z if directions is None else directions @ Z
                self._open[on] = False
            else:
                some = pushing != 0.0
                self.hold(np.vstack((self._C[some], gain)), some)
            return pushing
        return None
