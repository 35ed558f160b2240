"""Impulse equations M δv = AᵀΛ + f, A δv = −γ, solved numerically for any rank of A and any regular [M; A]."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, NotFiniteError

Array = NDArray[np.float64]

RANK = 1e-8
"""Rows count as dependent below this sine of the angle between one and the span of others, in the metric M⁻¹."""

INERTIA = 1e-14
"""M counts as singular below this eigenvalue, in units in which every diagonal entry is 1."""

NEGLIGIBLE = 1e-24
"""Size of a diagonal entry of M, relative to the largest, below which it counts as zero."""

CONTRADICTION = 1e-6
"""Residual of the rows, relative to the speeds, above which they contradict each other."""


@dataclass(frozen=True, eq=False)
class Impulses:
    """The solution.

    Attributes:
        change: δv, shape (nv,).
        values: Λ of least norm, shape (k,).
        null_space: orthonormal Λ with AᵀΛ = 0 as columns, shape (k, k − rank).
        mobility: √(A_i M⁻¹ A_iᵀ) of each row, shape (k,): one over the root of its effective mass.
    """

    change: Array
    values: Array
    null_space: Array
    mobility: Array

    @property
    def rank(self) -> int:
        """Rank of A."""
        return int(self.values.size - self.null_space.shape[1])


@dataclass(frozen=True, eq=False)
class ImpulseEquations:
    """The equations at one position.

    Attributes:
        M: mass matrix, shape (nv, nv).
        A: rows, shape (k, nv).
        rows: name of each row, for messages.
        velocities: name of each velocity, for messages.
        owner: name of the robot, for messages.
        kind: noun for the rows, for messages.
    """

    M: Array
    A: Array
    rows: tuple[str, ...]
    velocities: tuple[str, ...]
    owner: str
    kind: str = "natural rows"

    def solve(self, rates: Array, force: Array, size: float) -> Impulses:
        """Solve for the impulses and the change of velocity.

        Args:
            rates: γ, shape (k,).
            force: f, shape (nv,).
            size: √(2 T) of the motion; residuals of the rows are compared with it, and with γ.

        Raises:
            NotFiniteError: if M, A or γ is not finite.
            ModelError: if some velocity has neither inertia nor a row, or if rows contradict each other.
        """
        if not np.isfinite(rates).all():
            raise NotFiniteError(f"{self.owner}: the speeds of {self.kind} are not finite at this position")
        root, units, weights = self._root
        reach = np.linalg.solve(root, units[:, None] * self.A.T)
        mobility = np.linalg.norm(reach, axis=0)
        scale = np.where(mobility > 1e-12 * mobility.max(initial=0.0), mobility, 1.0)
        U, sines, Vt = np.linalg.svd(reach / scale, full_matrices=True)
        rank = int(np.sum(sines > RANK * sines.max(initial=0.0)))
        free = np.linalg.solve(root, units * force)
        right = -rates / scale - (reach / scale).T @ free
        stretch = (Vt[:rank] @ right) / sines[:rank]
        change = units * np.linalg.solve(root.T, free + U[:, :rank] @ stretch)
        self._require_consistent(rates + self.A @ change, scale, size + float(np.linalg.norm(rates / scale)))
        values = (Vt[:rank].T @ (stretch / sines[:rank])) / scale + weights * rates
        null_space, _ = np.linalg.qr(Vt[rank:].T / scale[:, None])
        return Impulses(change, values - null_space @ (null_space.T @ values), null_space, mobility)

    def size(self, velocity: Array) -> float:
        """Return √(2 T), with the augmentation of a singular M.

        Args:
            velocity: v, shape (nv,).
        """
        root, units, _ = self._root
        return float(np.linalg.norm(root.T @ (velocity / units)))

    @functools.cached_property
    def _root(self) -> tuple[Array, Array, Array]:
        """L, d and c with d (M + AᵀCA) d = L Lᵀ, where d makes the diagonal 1; c, the diagonal of C, is mostly zero.

        Adding Aᵀ C (A δv + γ) = 0 to the equations makes their matrix regular, and adds C γ to the impulses.
        """
        M, A = self.M, self.A
        if not np.isfinite(M).all() or not np.isfinite(A).all():
            raise NotFiniteError(f"{self.owner}: the mass matrix or the {self.kind} are not finite at this position")
        weights = np.zeros(len(A))
        units, values, _ = _modes(M)
        if values.min(initial=1.0) <= INERTIA:
            lengths = np.sum((A * units) ** 2, axis=1)
            weights = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
            M = M + A.T @ (weights[:, None] * A)
        units, values, vectors = _modes(M)
        if values.min(initial=1.0) <= INERTIA:
            share = np.abs(vectors[:, 0])
            massless = ", ".join(self.velocities[i] for i in np.flatnonzero(share > 0.1 * share.max()))
            raise ModelError(
                f"{self.owner}: the mass matrix is singular at this position: {massless} can change without inertia, "
                "so no impulse determines it"
            )
        root = np.linalg.cholesky(units[:, None] * M * units)
        return np.asarray(root, dtype=np.float64), units, weights

    def _require_consistent(self, residual: Array, scale: Array, size: float) -> None:
        if not residual.size or float(np.linalg.norm(residual / scale)) <= CONTRADICTION * size:
            return
        share = np.abs(residual / scale)
        # Rows that contradict each other mostly have equal residuals.
        worst = np.flatnonzero(share > 0.5 * share.max())
        named = " and ".join(f"{self.rows[i]} still has the speed {residual[i]:g}" for i in worst)
        raise ModelError(
            f"{self.owner}: the {self.kind} contradict each other: in the best approximation {named} instead of 0"
        )


def _modes(M: Array) -> tuple[Array, Array, Array]:
    """Return d that scales the diagonal of d M d to 1, unless nearly 0, and the eigenvalues and vectors of d M d."""
    diagonal = np.diag(M)
    largest = diagonal.max(initial=0.0) or 1.0
    units = 1.0 / np.sqrt(np.where(diagonal > NEGLIGIBLE * largest, diagonal, largest))
    values, vectors = np.linalg.eigh(units[:, None] * M * units)
    return units, np.asarray(values, dtype=np.float64), np.asarray(vectors, dtype=np.float64)
