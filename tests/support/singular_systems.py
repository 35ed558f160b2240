"""Constrained motions that are singular in one way or another, as numbers, and their solutions by NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erugin.constraints import ConstrainedMotion
from erugin.constraints.solvers import SingularCase

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Singular:
    """A recipe of random equations with some singular cases among them.

    Attributes:
        label: shown by tests.
        cases: what is singular.
        velocities: n.
        rank_of_mass: of M.
        independent: independent rows.
        dependent: rows that are combinations of them.
        vanishing: rows of zeros.
    """

    label: str
    cases: frozenset[SingularCase]
    velocities: int = 6
    rank_of_mass: int = 6
    independent: int = 3
    dependent: int = 0
    vanishing: int = 0

    def equations(self, seed: int, *, contradiction: float = 0.0) -> ConstrainedMotion:
        """Numbers at random, with units up to a thousand apart; the last row may contradict the others."""
        rng = np.random.default_rng(seed)
        n, m = self.velocities, self.independent
        units = 10.0 ** rng.uniform(-1.5, 1.5, n)
        G = conditioned(rng, n, self.rank_of_mass)
        M = units[:, None] * (G @ G.T) * units
        rows = 10.0 ** rng.uniform(-1.5, 1.5, (m, 1)) * conditioned(rng, m, n) * units
        rest = rng.normal(size=(self.dependent, m)) @ rows
        theta = np.vstack([rows, np.zeros((self.vanishing, n)), rest])
        beta = theta @ (rng.normal(size=n) / units)
        beta[-1] += contradiction
        return ConstrainedMotion(M, units * rng.normal(size=n), theta, beta)


def conditioned(rng: np.random.Generator, m: int, n: int) -> Array:
    """A random matrix of shape (m, n) and full rank, with singular values between 0.3 and 3."""
    k = min(m, n)
    left, right = np.linalg.qr(rng.normal(size=(m, k)))[0], np.linalg.qr(rng.normal(size=(n, k)))[0]
    return np.asarray(left * rng.uniform(0.3, 3.0, k) @ right.T, dtype=np.float64)


PROBLEMS = (
    Singular("regular", frozenset()),
    Singular("dependent rows", frozenset({SingularCase.DEPENDENT_ROWS}), dependent=2),
    Singular("vanishing row", frozenset({SingularCase.VANISHING_ROWS}), vanishing=1),
    Singular("singular mass", frozenset({SingularCase.SINGULAR_MASS}), rank_of_mass=4),
    Singular("more rows", frozenset({SingularCase.DEPENDENT_ROWS, SingularCase.MORE_ROWS}), dependent=5),
    Singular("all rows but zero", frozenset({SingularCase.VANISHING_ROWS}), independent=1, vanishing=3),
    Singular("rows that leave nothing", frozenset({SingularCase.SINGULAR_MASS}), rank_of_mass=0, independent=6),
    Singular("all at once", frozenset(SingularCase), rank_of_mass=4, dependent=4, vanishing=1),
)


def whole_system(equations: ConstrainedMotion) -> tuple[Array, Array]:
    """a and least-norm λ of [M −Θᵀ; Θ 0] by NumPy, in units in which the matrix is well scaled."""
    M, theta = equations.mass, equations.rows
    m, n = theta.shape
    # Scales of its own: by the rows of M and Θ, whatever the code under test takes.
    S = 1.0 / np.sqrt(np.maximum(np.abs(M).max(axis=1), np.finfo(np.float64).tiny)) if M.any() else np.ones(n)
    lengths = np.linalg.norm(theta * S, axis=1)
    F = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    rows = F[:, None] * theta * S
    whole = np.block([[S[:, None] * M * S, -rows.T], [rows, np.zeros((m, m))]])
    right = np.concatenate([S * equations.force, F * equations.right])
    a = S * np.linalg.lstsq(whole, right, rcond=1e-11)[0][:n]
    lam = np.linalg.lstsq(theta.T * S[:, None], S * (M @ a - equations.force), rcond=1e-11)[0]
    return np.asarray(a, dtype=np.float64), np.asarray(lam, dtype=np.float64)
