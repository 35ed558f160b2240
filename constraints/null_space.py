"""Orthonormal bases of the null space of constraint rows: the choice of generalized velocities, and its continuity.

The recurrent method is Larin's product of one-row reflections, V₂ = V₂₁ V₂₂ … V₂ₘ, without forming any of its factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import ModelError, ShapeError, unknown_name
from ..symbolic.validation import positive, reals

Array = NDArray[np.float64]

SMALLEST_COSINE = 1e-3
"""Cosine of the largest angle between two subspaces below which rounding decides which basis is nearest."""


def align_basis(basis: ArrayLike, previous: ArrayLike) -> Array:
    """Return the basis of the same subspace that is nearest to a previous one: V₂ Q with orthogonal Q.

    Q = U Wᵀ of the singular value decomposition V₂ᵀV₂₀ = U Σ Wᵀ makes |V₂ Q − V₂₀| least (the orthogonal Procrustes
    problem, [Schonemann1966]_). Along a motion it removes the jumps and flips of sign that a choice of bases has, and
    tends to the transported basis, V₂ᵀ V̇₂ = 0, as the steps go to zero. Velocities are carried over by w₊ = V₂₊ᵀ v,
    whatever the basis.

    Args:
        basis: V₂, orthonormal columns, shape (n, k).
        previous: V₂₀, orthonormal columns, shape (n, k).

    Raises:
        ShapeError: if the shapes differ, or a number is not finite.
        ModelError: if a direction of one subspace is at a right angle to the other, so that no basis is nearest; use
            shorter steps.
    """
    new, old = np.asarray(basis, dtype=np.float64), np.asarray(previous, dtype=np.float64)
    if new.shape != old.shape or new.ndim != 2:
        raise ShapeError(f"both bases must have one shape (n, k), got {new.shape} and {old.shape}")
    if not (np.isfinite(new).all() and np.isfinite(old).all()):
        raise ShapeError("both bases must be finite, but one has numbers that are NaN or infinite")
    left, cosines, right = np.linalg.svd(new.T @ old)
    least = float(cosines.min(initial=1.0))
    if not least > SMALLEST_COSINE:
        angle = float(np.degrees(np.arccos(np.clip(least, 0.0, 1.0))))
        raise ModelError(
            f"the new subspace is turned by {angle:.3g} degrees from the previous one, but at most "
            f"{np.degrees(np.arccos(SMALLEST_COSINE)):.4g} can be followed; use shorter steps"
        )
    return np.asarray(new @ (left @ right), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Reflections:
    """Orthogonal V = [V₁ V₂] whose first columns span given rows, as a product of reflections.

    With a unit row γ = [γ₀, γ*] and γ₀ ≥ 0, the matrix of [Larin1993]_ eq. (3.2),
    V₂ = [−γ*ᵀ; E − γ*γ*ᵀ/(1 + γ₀)], is the reflection E − g gᵀ/(1 + γ₀) with g = γ + e₀, less its first column. The
    product is applied, not multiplied out, and costs as much as a triangularization.

    Attributes:
        n: length of the rows.
        vectors: g of each reflection, the i-th of length n − i, and 1 + γ₀.
        remainders: part of each row outside the span of earlier rows, as a share of its length, shape (m,); zero for a
            zero row.
    """

    n: int
    vectors: tuple[tuple[Array, float], ...]
    remainders: Array

    @classmethod
    def of_rows(cls, rows: Array, tolerance: float) -> Reflections:
        """Reduce rows one after another.

        A row with a remainder of no more than ``tolerance`` depends on earlier ones and is skipped; the printed
        recurrence divides rounding errors by their length there and loses a true degree of freedom. The sign of a row
        is flipped if γ₀ < 0, since orthogonality is lost like 6e-16/(1 + γ₀).

        Args:
            rows: rows of length one, or zero, shape (m, n).
            tolerance: share of its length up to which a remainder counts as zero.
        """
        m, n = rows.shape
        rest = rows.copy()
        vectors: list[tuple[Array, float]] = []
        remainders = np.zeros(m)
        for i in range(m):
            row = rest[i]
            length = remainders[i] = float(np.sqrt(row @ row))
            if length <= tolerance or len(row) == 0:
                continue
            gamma = row / (length if row[0] >= 0.0 else -length)
            gamma[0] += 1.0
            pivot = float(gamma[0])
            below = rest[i + 1 :]
            # D_i V₂: the reflection of each remaining row, less its first element.
            below -= np.multiply.outer(below @ gamma, gamma / pivot)
            rest = rest[:, 1:]
            vectors.append((gamma, pivot))
        return cls(n, tuple(vectors), remainders)

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return len(self.vectors)

    def columns(self, first: int, last: int) -> Array:
        """Columns ``first`` … ``last`` − 1 of V; V₁ has the columns below the rank, V₂ the others.

        Args:
            first: index of the first column.
            last: index after the last column.
        """
        block = np.eye(self.n)[:, first:last].copy()
        for i in reversed(range(self.rank)):
            gamma, pivot = self.vectors[i]
            trailing = block[i:]
            trailing -= np.multiply.outer(gamma / pivot, gamma @ trailing)
        return block


def recurrent_operations(m: int, n: int, rank: int) -> int:
    """Number of multiplications and divisions for V₂ of m rows by the recurrence, independent rows first.

    The normalization of m rows takes 2n each. Row i needs its length and a division (2(n − i) and a root), scales g,
    and reduces the rows below, 2(n − i) each. V₂ is n − rank columns through all reflections, 2(n − i) each, and one
    more scaling of g.

    Args:
        m: number of rows.
        n: length of the rows.
        rank: number of independent rows.
    """
    reduction = sum(3 * (n - i) + 2 * (n - i) * (m - i - 1) for i in range(rank))
    columns = sum((n - i) + 2 * (n - i) * (n - rank) for i in range(rank))
    return 2 * m * n + reduction + columns + (m - rank) * max(n - rank, 0)


NullSpaceMethod = Literal["svd", "recurrent", "qr"]

RANK_TOLERANCE = 1e-10
"""Remainder of a unit row, or singular value as a share of the largest, up to which it counts as zero."""

VANISHING = 1e-14
"""Share of the longest row below which a row is only rounding."""


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Rows Θ split into constrained and free directions: V = [V₁ V₂] orthogonal, Θ V₂ = 0.

    The velocities that Θ v = 0 admits are v = V₂ w, w = V₂ᵀ v, [Larin1993]_ eq. (2.4).

    Attributes:
        basis: V₂, shape (n, n − rank).
        normal: V₁, which spans the rows, shape (n, rank).
        rank: number of independent rows.
        dependent_rows: indices of the rows that depend on rows before them, or vanish, m − rank of them.
        remainders: part of each row outside the span of rows before it, as a share of its length, shape (m,).
        singular_values: singular values of the rows at unit length, largest first, shape (min(m, n),); for the method
            ``"svd"`` only, else empty.
        method: method that was used.
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
            tolerance: remainder or singular value up to which it counts as zero.
        """
        rows = _checked(theta, method, tolerance)
        basis, normal, values = _bases(rows, method, float(tolerance))
        rank = normal.shape[1]
        remainders = Reflections.of_rows(rows, float(tolerance)).remainders
        # The rows with the least remainders, as many as the rank of this method leaves over.
        dependent = np.sort(np.argsort(remainders, kind="stable")[: len(rows) - rank])
        parts = np.array(basis), np.array(normal), np.array(remainders), np.array(values)
        for part in parts:
            part.setflags(write=False)
        return cls(parts[0], parts[1], rank, tuple(int(i) for i in dependent), parts[2], parts[3], method)


def null_space(theta: ArrayLike, method: NullSpaceMethod = "svd", tolerance: float = RANK_TOLERANCE) -> Array:
    """Orthonormal basis V₂ of the vectors v with Θ v = 0.

    - ``"svd"``: the last columns of V in Θ = U Σ Vᵀ, [Larin1993]_ eqs. (2.1)-(2.3). The most reliable rank.
    - ``"recurrent"``: the product V₂₁ V₂₂ … V₂ₘ of one-row reflections, eqs. (3.1), (3.2), with the sign of a row
      flipped if γ₀ < 0 and dependent rows skipped; see :class:`~erugin.constraints.null_space.Reflections`.
      It is Householder's triangularization of Θᵀ without pivoting, and LAPACK computes it if no row is dependent.
    - ``"qr"``: the last columns of Q in Θᵀ P = Q R, pivoted.

    Every row is first scaled to length one, so that units do not matter; a row shorter than 1e-14 times the longest
    counts as zero. Bases of different methods, and of one method at neighbouring Θ, may differ by a rotation: only the
    projector V₂V₂ᵀ is a continuous function of Θ. :func:`~erugin.constraints.align_basis` turns one towards another.
    :class:`NullSpace` also has the rank and the dependent rows.

    Args:
        theta: Θ, shape (m, n); without rows, shape (0, n), everything is free.
        method: one of the three; their bases agree up to a rotation.
        tolerance: part of a row outside the span of earlier ones, as a share of its length (or singular value, as a
            share of the largest), up to which it counts as zero; between zero and one.

    Returns:
        V₂, shape (n, n − rank), read-only.

    Raises:
        ShapeError: if theta is not a finite matrix with at least one column.
        ModelError: if the method is unknown or the tolerance is not between zero and one.
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
    """V₂, V₁ and the singular values, empty for methods without them."""
    m, n = rows.shape
    if m == 0:
        return np.eye(n), np.zeros((n, 0)), np.zeros(0)
    if method == "svd":
        # With more rows than columns, the whole V comes without the m × m matrix U.
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
    nonzero = (largest > VANISHING * top) & (largest > 0.0)
    rows[~nonzero] = 0.0
    rows[nonzero] /= largest[nonzero, None]
    rows[nonzero] /= np.linalg.norm(rows[nonzero], axis=1)[:, None]
    return rows
