"""Impulse equations M δv = AᵀΛ + f with A δv = −γ, in numbers, for any rank of A and a singular M that A completes."""

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
"""Share of the largest diagonal entry of M below which another is no inertia at all."""

MISSED = 1e-6
"""Share of the speeds by which rows may miss what is asked of them, and not be called contradictory."""


@dataclass(frozen=True, eq=False)
class Impulses:
    """The solution.

    Attributes:
        change: δv, shape (nv,).
        values: Λ, shape (k,), of all that there are those with the least norm.
        idle: orthonormal Λ without effect, AᵀΛ = 0, as columns, shape (k, k − rank).
        mobility: of each row, √(A_i M⁻¹ A_iᵀ), shape (k,): one over the root of the mass that it feels.
    """

    change: Array
    values: Array
    idle: Array
    mobility: Array

    @property
    def rank(self) -> int:
        """Of A."""
        return int(self.values.size - self.idle.shape[1])


@dataclass(frozen=True, eq=False)
class ImpulseEquations:
    """The equations at one position.

    Attributes:
        M: mass matrix, shape (nv, nv).
        A: rows, shape (k, nv).
        rows: name of each row, for messages.
        velocities: name of each velocity, for messages.
        owner: name of the robot, for messages.
        kind: what the rows are, for messages.
    """

    M: Array
    A: Array
    rows: tuple[str, ...]
    velocities: tuple[str, ...]
    owner: str
    kind: str = "natural rows"

    def solve(self, rates: Array, force: Array, size: float) -> Impulses:
        """Impulses and change of velocity.

        Args:
            rates: γ, shape (k,).
            force: f, shape (nv,).
            size: √(2 T) of the motion: what rows miss is compared with it, and with γ.

        Raises:
            NotFiniteError: if M, A or γ is not finite.
            ModelError: if no inertia and no row holds some velocity, or if rows contradict each other.
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
        asked = -rates / scale - (reach / scale).T @ free
        stretch = (Vt[:rank] @ asked) / sines[:rank]
        change = units * np.linalg.solve(root.T, free + U[:, :rank] @ stretch)
        self._require_met(rates + self.A @ change, scale, size + float(np.linalg.norm(rates / scale)))
        values = (Vt[:rank].T @ (stretch / sines[:rank])) / scale + weights * rates
        idle, _ = np.linalg.qr(Vt[rank:].T / scale[:, None])
        return Impulses(change, values - idle @ (idle.T @ values), idle, mobility)

    def size(self, velocity: Array) -> float:
        """√(2 T), with what stands in for missing inertia.

        Args:
            velocity: v, shape (nv,).
        """
        root, units, _ = self._root
        return float(np.linalg.norm(root.T @ (velocity / units)))

    @functools.cached_property
    def _root(self) -> tuple[Array, Array, Array]:
        """L, d and c with d (M + AᵀCA) d = L Lᵀ, where d makes the diagonal 1; c, the diagonal of C, is mostly zero.

        C (A δv + γ) = 0 adds nothing to the equations but a regular matrix, and C γ to the impulses.
        """
        M, A = self.M, self.A
        if not np.isfinite(M).all() or not np.isfinite(A).all():
            raise NotFiniteError(f"{self.owner}: mass matrix or {self.kind} are not finite at this position")
        weights = np.zeros(len(A))
        units, values, _ = _modes(M)
        if values.min(initial=1.0) <= INERTIA:
            lengths = np.sum((A * units) ** 2, axis=1)
            weights = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
            M = M + A.T @ (weights[:, None] * A)
        units, values, vectors = _modes(M)
        if values.min(initial=1.0) <= INERTIA:
            share = np.abs(vectors[:, 0])
            moving = ", ".join(self.velocities[i] for i in np.flatnonzero(share > 0.1 * share.max()))
            raise ModelError(
                f"{self.owner}: the mass matrix is singular at this position: {moving} can change without inertia, so "
                "no impulse determines it"
            )
        root = np.linalg.cholesky(units[:, None] * M * units)
        return np.asarray(root, dtype=np.float64), units, weights

    def _require_met(self, missed: Array, scale: Array, size: float) -> None:
        if not missed.size or float(np.linalg.norm(missed / scale)) <= MISSED * size:
            return
        share = np.abs(missed / scale)
        # Rows that contradict each other mostly miss by the same.
        worst = np.flatnonzero(share > 0.5 * share.max())
        named = " and ".join(f"{self.rows[i]} still has the speed {missed[i]:g}" for i in worst)
        raise ModelError(
            f"{self.owner}: the {self.kind} contradict each other: with all of them as nearly met as can be, {named} "
            "and not 0"
        )


def _modes(M: Array) -> tuple[Array, Array, Array]:
    """d that makes the diagonal of d M d 1, where it is not nearly 0, and the eigenvalues and eigenvectors of that."""
    diagonal = np.diag(M)
    largest = diagonal.max(initial=0.0) or 1.0
    units = 1.0 / np.sqrt(np.where(diagonal > NEGLIGIBLE * largest, diagonal, largest))
    values, vectors = np.linalg.eigh(units[:, None] * M * units)
    return units, np.asarray(values, dtype=np.float64), np.asarray(vectors, dtype=np.float64)
