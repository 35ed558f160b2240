"""The inputs that do as well as one that has been found: a face of what limits leave, in coordinates of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .quadratic_program import QpAnswer, QuadraticProgram

Array = NDArray[np.float64]

NEAR = 1e-6
"""What is left to do with the bounds that were found must be less than this share of the inputs, or of one."""
WEAK = 1e-6
"""Directions in which rows move by less than this share of the most are left as the solver has found them."""
SILENT = 1e-11
"""And by less than this they do not move them at all."""

STRICT = 1e-8
"""A bound pushes whose multiplier is more than this share of the largest, or of one."""


class Face:
    """x + Z z with lower ≤ x + Z z ≤ upper and least ≤ rows · (x + Z z) ≤ most, where ZᵀZ = 1.

    Z spans what changes nothing of what has been reached: first everything, and ever less. No equations are left for a
    solver, which near a corner would be more than independent ones.

    Attributes:
        x: a point of it, shape (n,).
    """

    def __init__(self, x: Array, lower: Array, upper: Array, rows: Array, least: Array, most: Array) -> None:
        """Everything within the limits.

        Args:
            x: a point within lower and upper, or near them, shape (n,).
            lower: bounds of x, shape (n,).
            upper: bounds of x, shape (n,).
            rows: shape (l, n).
            least: bounds of rows · x, shape (l,).
            most: bounds of rows · x, shape (l,).
        """
        self.x = np.minimum(np.maximum(x, lower), upper)
        self._lower, self._upper, self._rows, self._least, self._most = lower, upper, rows, least, most
        self._Z: Array | None = None
        self._held = np.full(len(x), np.nan)
        self._off = np.zeros(len(rows), dtype=np.bool_)

    @property
    def is_free(self) -> bool:
        """Whether there is more than one point left."""
        return self._Z is None or self._Z.shape[1] > 0

    def program(self, square: Array, slope: Array, eps: float = 0.0) -> QuadraticProgram:
        """Least ½ zᵀZᵀ(square + ε)Zz + slopeᵀZz, with the limits.

        Args:
            square: shape (n, n).
            slope: shape (n,), at ``x``.
            eps: makes it definite.
        """
        Z, x = self._Z, self.x
        if Z is None:
            H = square if eps == 0.0 else square + eps * np.eye(len(x))
            reached = self._rows @ x
            return QuadraticProgram(
                H, slope, self._rows, self._least - reached, self._most - reached, self._lower - x, self._upper - x
            )
        d = Z.shape[1]
        H = Z.T @ square @ Z
        H.flat[:: d + 1] += eps
        # What has been reached must stay possible: z = 0 is, whatever rounding says.
        held = ~np.isnan(self._held)
        low, high = np.minimum(self._lower - x, 0.0), np.maximum(self._upper - x, 0.0)
        low[held], high[held] = -np.inf, np.inf
        reached = self._rows @ x
        least, most = np.minimum(self._least - reached, 0.0), np.maximum(self._most - reached, 0.0)
        least[self._off], most[self._off] = -np.inf, np.inf
        unbound = np.full(d, np.inf)
        return QuadraticProgram(
            H,
            slope @ Z,
            np.vstack((Z, self._rows @ Z)),
            np.concatenate((low, least)),
            np.concatenate((high, most)),
            -unbound,
            unbound,
        )

    def at(self, z: Array) -> Array:
        """The point x + Z z, on the bounds that are held exactly, and within the others.

        Args:
            z: shape (dimension of the face,).
        """
        x = self.x + self.along(z)
        return np.where(np.isnan(self._held), np.minimum(np.maximum(x, self._lower), self._upper), self._held)

    def along(self, z: Array) -> Array:
        """Z z, shape (n,).

        Args:
            z: shape (dimension of the face,).
        """
        return z if self._Z is None else np.asarray(self._Z @ z, dtype=np.float64)

    def move(self, z: Array) -> None:
        """Make x + Z z the point.

        Args:
            z: shape (dimension of the face,).
        """
        self.x = self.at(z)

    def narrow(self, answer: QpAnswer, pushing: NDArray[np.bool_], gain: Array, right: Array) -> NDArray[np.bool_]:
        """Move to what was found, and keep to the points that are as near to gain · x = right as it.

        They keep to the bounds that push, too: the slope of the sum of squares is a sum of these.

        Args:
            answer: with z and multipliers of :meth:`program`.
            pushing: which multipliers are not zero.
            gain: shape (m, n).
            right: shape (m,).

        Returns:
            Which limit rows push, shape (l,).
        """
        n = len(self.x)
        first = 0 if self._Z is None else self._Z.shape[1]
        bounds, limits = pushing[first : first + n], pushing[first + n :]
        up = answer.multipliers[first : first + n] > 0.0
        self._held = np.where(bounds, np.where(up, self._upper, self._lower), self._held)
        self.move(answer.x)
        self._off |= limits
        size = float(np.sqrt(np.vdot(gain, gain)))
        free = self._beside(bounds, limits)
        left, values, right_basis = np.linalg.svd(gain @ free)
        if not self._polish(left, values, free @ right_basis.T, size, gain, right):
            # It left a bound that is reached without a push: keep to those, too.
            beside = self._beside((self.x <= self._lower + NEAR) | (self.x >= self._upper - NEAR), limits)
            inner, strengths, outer = np.linalg.svd(gain @ beside)
            self._polish(inner, strengths, beside @ outer.T, size, gain, right)
        self._Z = free @ right_basis[np.count_nonzero(values > SILENT * size) :].T
        return np.asarray(limits, dtype=np.bool_)

    @property
    def sides(self) -> Array:
        """Of each input the bound that it is held at: 1 the upper, −1 the lower, 0 none; shape (n,)."""
        return np.where(np.isnan(self._held), 0.0, np.where(self._held == self._upper, 1.0, -1.0))

    def keeps(self, sides: Array, gain: Array, right: Array) -> bool:
        """The same as :meth:`narrow`, if these bounds and no others push; whether they do, and it was done.

        With them known there is no programme to be solved but linear least squares, and the signs of the slope to be
        looked at.

        Args:
            sides: of another problem like this, shape (n,).
            gain: shape (m, n).
            right: shape (m,).
        """
        bounds = sides != 0.0
        held = np.where(sides > 0.0, self._upper, self._lower)
        if self._Z is not None or not np.isfinite(held[bounds]).all():
            return False
        free = ~bounds
        left, values, right_basis = np.linalg.svd(gain[:, free])
        size = float(np.sqrt(np.vdot(gain, gain)))
        rank = int(np.count_nonzero(values > SILENT * size))
        if rank and values[rank - 1] <= WEAK * size:
            return False
        x = np.where(bounds, held, self.x)
        x[free] += ((right - gain @ x) @ left[:, :rank] / values[:rank]) @ right_basis[:rank]
        pushes = (right - gain @ x) @ gain
        if not (pushes * sides > STRICT * (1.0 + np.abs(pushes).max()))[bounds].all():
            return False
        reached = self._rows @ x
        if not ((x >= self._lower).all() and (x <= self._upper).all()):
            return False
        if not ((reached >= self._least).all() and (reached <= self._most).all()):
            return False
        self.x, self._held = x, np.where(bounds, held, np.nan)
        self._Z = np.eye(len(x))[:, free] @ right_basis[rank:].T
        return True

    def _beside(self, bounds: NDArray[np.bool_], limits: NDArray[np.bool_]) -> Array:
        """An orthonormal basis of what changes neither what has been reached nor these bounds, shape (n, d)."""
        if self._Z is None and not limits.any():
            return np.eye(len(bounds))[:, ~bounds]
        Z = np.eye(len(bounds)) if self._Z is None else self._Z
        rows = np.vstack((Z[bounds], self._rows[limits] @ Z))
        if not rows.size:
            return Z
        _, values, directions = np.linalg.svd(rows)
        lengths = np.sqrt(np.vdot(rows, rows))
        return np.asarray(Z @ directions[np.count_nonzero(values > SILENT * lengths) :].T, dtype=np.float64)

    def _polish(self, left: Array, values: Array, directions: Array, size: float, gain: Array, right: Array) -> bool:
        """Linear least squares with the bounds known, which leaves nothing of rounding; whether it keeps to the others.

        Args:
            left: left, values and directions, as columns, are the singular value decomposition of gain along the
                directions that are free.
            values: see there.
            directions: see there.
            size: of gain.
            gain: shape (m, n).
            right: shape (m,).
        """
        strong = np.count_nonzero(values > WEAK * size)
        rest = (right - gain @ self.x) @ left[:, :strong] / values[:strong]
        change = directions[:, :strong] @ rest
        if np.abs(change).max(initial=0.0) > NEAR * (1.0 + np.abs(self.x).max(initial=0.0)):
            return True
        after = self.x + change
        inside = (after >= self._lower) & (after <= self._upper)
        still = np.isnan(self._held)
        if not (inside | ~still).all():
            return False
        self.x = np.where(still, after, self.x)
        return True
