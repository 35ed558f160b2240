"""Orthonormal bases of what constraint rows leave free: the choice of generalized velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import positive, reals
from ..symbolic.errors import ModelError, ShapeError, unknown_name
from .reflections import Reflections

Array = NDArray[np.float64]
NullSpaceMethod = Literal["svd", "recurrent", "qr"]

RANK_TOLERANCE = 1e-10
"""What is left of a unit row, or of the largest singular value, that counts as nothing."""

VANISHING = 1e-14
"""Share of the longest row below which a row is nothing but rounding."""


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Rows Θ split into what they hold and what they leave free: V = [V₁ V₂] orthogonal, Θ V₂ = 0.

    The velocities that Θ v = 0 admits are v = V₂ w, w = V₂ᵀ v, [Larin1993]_ eq. (2.4).

    Attributes:
        basis: V₂, shape (n, n − rank).
        normal: V₁, which spans the rows, shape (n, rank).
        rank: number of independent rows.
        dependent_rows: places of the rows that depend on rows before them, or vanish, m − rank of them.
        remainders: what the rows before leave of each row, as a share of its length, shape (m,).
        singular_values: of the rows at unit length, largest first, shape (min(m, n),); for the method ``"svd"`` only,
            else empty.
        method: that found them.
    """

    basis: Array
    normal: Array
    rank: int
    dependent_rows: tuple[int, ...]
    remainders: Array
    singular_values: Array
    method: NullSpaceMethod

    @classmethod
    def of(cls, theta: ArrayLike, method: NullSpaceMethod = "svd", tolerance: float = RANK_TOLERANCE) -> NullSpace:
        """Split the rows; see :func:`null_space`.

        Args:
            theta: Θ, shape (m, n).
            method: ``"svd"``, ``"recurrent"`` or ``"qr"``.
            tolerance: what counts as nothing.
        """
        rows = _checked(theta, method, tolerance)
        basis, normal, values = _bases(rows, method, float(tolerance))
        rank = normal.shape[1]
        remainders = Reflections.of_rows(rows, float(tolerance)).remainders
        # The last rows to be needed, so that their number fits the rank where a method sees it otherwise.
        dependent = np.sort(np.argsort(remainders, kind="stable")[: len(rows) - rank])
        parts = np.array(basis), np.array(normal), np.array(remainders), np.array(values)
        for part in parts:
            part.setflags(write=False)
        return cls(parts[0], parts[1], rank, tuple(int(i) for i in dependent), parts[2], parts[3], method)


def null_space(theta: ArrayLike, method: NullSpaceMethod = "svd", tolerance: float = RANK_TOLERANCE) -> Array:
    """Orthonormal basis V₂ of the vectors v with Θ v = 0.

    - ``"svd"``: the last columns of V in Θ = U Σ Vᵀ, [Larin1993]_ eqs. (2.1)-(2.3). The surest rank.
    - ``"recurrent"``: the product V₂₁ V₂₂ … V₂ₘ of one-row reflections, eqs. (3.1), (3.2), with the sign of a row
      turned over where γ₀ < 0 and dependent rows passed over; see :class:`~erugin.constraints.reflections.Reflections`.
      It is Householder's triangularization of Θᵀ without pivoting, and LAPACK does it where no row is dependent.
    - ``"qr"``: the last columns of Q in Θᵀ P = Q R, pivoted.

    Every row is first brought to length one, so that units do not matter; a row shorter than 1e-14 times the
    longest is nothing but rounding. Bases of different methods, and of one method at neighbouring Θ, may differ by a
    rotation: only the projector V₂V₂ᵀ is a continuous function of Θ. :func:`~erugin.constraints.aligned` turns one
    towards another. :class:`NullSpace` also tells rank and dependent rows.

    Args:
        theta: Θ, shape (m, n); no rows (0, n) leave everything free.
        method: how; all three agree up to a rotation of the basis.
        tolerance: what earlier rows leave of a row, as a share of its length (or of a singular value, of the largest),
            that counts as nothing; between zero and one.

    Returns:
        V₂, shape (n, n − rank), read-only.

    Raises:
        ShapeError: for other than a finite matrix with at least one column.
        ModelError: for an unknown method or a tolerance that is not between zero and one.
    """
    basis = np.array(_bases(_checked(theta, method, tolerance), method, float(tolerance))[0])
    basis.setflags(write=False)
    return basis


def _checked(theta: ArrayLike, method: str, tolerance: float) -> Array:
    if not positive("tolerance", tolerance) < 1.0:
        raise ModelError(f"tolerance is a share of a unit row and must be less than 1, got {tolerance:g}; try 1e-10")
    if method not in get_args(NullSpaceMethod):
        raise ModelError(unknown_name("method of null_space", str(method), get_args(NullSpaceMethod)))
    return _unit_rows(theta)


def _bases(rows: Array, method: NullSpaceMethod, tolerance: float) -> tuple[Array, Array, Array]:
    """V₂, V₁ and the singular values, if the method has them."""
    m, n = rows.shape
    if m == 0:
        return np.eye(n), np.zeros((n, 0)), np.zeros(0)
    if method == "svd":
        # Of more rows than columns the whole V is there without the m × m matrix U.
        _, values, Vt = np.linalg.svd(rows, full_matrices=m < n)
        rank = int((values > tolerance * values[0]).sum())
        return np.asarray(Vt[rank:].T), np.asarray(Vt[:rank].T), np.asarray(values)
    if method == "recurrent":
        if m <= n:
            # Householder's triangularization reflects row after row with the same choice of sign.
            Q, R = np.linalg.qr(rows.T, mode="complete")
            if np.abs(np.diag(R)).min() > tolerance:
                return np.asarray(Q[:, m:]), np.asarray(Q[:, :m]), np.zeros(0)
        reflections = Reflections.of_rows(rows, tolerance)
        rank = reflections.rank
        return reflections.columns(rank, n), reflections.columns(0, rank), np.zeros(0)
    from scipy import linalg

    Q, R, _ = linalg.qr(rows.T, pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > tolerance * diagonal[0]).sum())
    return np.array(Q[:, rank:], dtype=np.float64), np.array(Q[:, :rank], dtype=np.float64), np.zeros(0)


def _unit_rows(theta: ArrayLike) -> Array:
    try:
        rows = reals("theta", theta)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"theta must be a matrix of numbers, shape (m, n), got {theta!r}") from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ShapeError(f"theta must have shape (m, n) with n at least 1, got shape {rows.shape}")
    if not np.isfinite(rows).all():
        i, j = (int(k) for k in np.argwhere(~np.isfinite(rows))[0])
        raise ShapeError(f"theta must be finite, but theta[{i}, {j}] is {rows[i, j]}")
    # Scaled before it is squared, so that lengths neither overflow nor vanish.
    largest = np.abs(rows).max(axis=1, initial=0.0)
    top = largest.max(initial=0.0)
    kept = (largest > VANISHING * top) & (largest > 0.0)
    rows[~kept] = 0.0
    rows[kept] /= largest[kept, None]
    rows[kept] /= np.linalg.norm(rows[kept], axis=1)[:, None]
    return rows
