"""Natural rows A: which of them depend on others, and the augmentation of a singular mass matrix by them.

If M is singular in every position, the motion is still determined if and only if [M; A] has full column rank. Adding
Aᵀ C (A a − b) = 0 to the equations of motion changes neither a nor μ, for any C > 0, and makes the matrix of a regular,
[Deressa2015]_ section 1.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters
from ..symbolic.sampling import sample_values

Array = NDArray[np.float64]

SINGULAR_TOLERANCE = 1e-13
"""Relative size of a singular value below which it counts as zero, with all columns scaled to equal length.

A chain of a hundred links, which is regular, has 2e-9; a singular matrix has about 1e-16, from rounding.
"""


def augmentation(name: str, c: Coordinates, parameters: Parameters, mass_matrix: ca.SX, A: ca.SX) -> ca.DM:
    """Return the diagonal of C in M + Aᵀ C A: zero if M is regular at any sampled position, else of the size of M.

    Args:
        name: name of the robot, for messages.
        c: coordinates of the robot.
        parameters: of the robot.
        mass_matrix: M, shape (nv, nv).
        A: rows of the natural constraints, shape (k, nv).

    Raises:
        ModelError: if M is singular and [M; A] does not have full column rank.
    """
    rows = A.size1()
    samples: list[tuple[Array, Array]] = []
    for M, rows_A in sample_values({"M": mass_matrix, "A": A}, _symbols(c), parameters):
        if not np.isfinite(M).all() or not np.isfinite(rows_A).all() or not _deficient(M):
            return ca.DM.zeros(rows, 1)
        samples.append((M, rows_A))
    for M, rows_A in samples:
        _require_rank(name, c, M, rows_A)
    M, rows_A = samples[0]
    size = np.trace(M) / max(np.count_nonzero(np.diag(M)), 1)
    lengths = np.maximum(np.sum(rows_A**2, axis=1), np.finfo(float).tiny)
    return ca.DM((size or 1.0) / lengths)


def require_regular_mass_matrix(name: str, c: Coordinates, parameters: Parameters, mass_matrix: ca.SX) -> None:
    """Raise ModelError if M is singular at all sampled positions.

    Args:
        name: name of the robot, for messages.
        c: coordinates of the robot.
        parameters: of the robot.
        mass_matrix: M, shape (nv, nv).
    """
    if c.nv == 0:
        return
    M = np.zeros((c.nv, c.nv))
    for (M,) in sample_values({"M": mass_matrix}, _symbols(c), parameters):
        if not np.isfinite(M).all() or not _deficient(M):
            return
    _, _, vectors = np.linalg.svd(M / _lengths(M))
    raise ModelError(
        f"{name}: the mass matrix is singular in every position: {_massless(c, vectors[-1])} can change "
        "without inertia. Add a mass, or a natural constraint on it"
    )


def _symbols(c: Coordinates) -> dict[str, ca.SX]:
    return {"t": c.t, "q": c.q, "v": c.v}


def _deficient(M: Array) -> bool:
    """True if M, with columns scaled to equal length (kg and kg m² mix), has a singular value near zero."""
    if not M.size:
        return False
    values = np.linalg.svd(M / _lengths(M), compute_uv=False)
    return bool(values[-1] <= SINGULAR_TOLERANCE * values[0])


def _lengths(matrix: Array) -> Array:
    lengths = np.linalg.norm(matrix, axis=0)
    return np.where(lengths > 0.0, lengths, 1.0)


def _require_rank(name: str, c: Coordinates, M: Array, A: Array) -> None:
    """Raise ModelError unless [M; A] has full column rank."""
    # M and A get the same column scale, so that their common null space is preserved.
    rows = np.linalg.norm(A, axis=1, keepdims=True)
    size = np.abs(M).max() or 1.0
    stacked = np.vstack([M / size, A / np.where(rows > 0.0, rows, 1.0)])
    scale = _lengths(stacked)
    _, values, vectors = np.linalg.svd(stacked / scale)
    if values[-1] > SINGULAR_TOLERANCE * values[0]:
        return
    raise ModelError(
        f"{name}: the mass matrix is singular, and {_massless(c, vectors[-1])} can change with neither inertia nor a "
        "natural constraint. Add a mass, or a natural constraint on it"
    )


def _massless(c: Coordinates, direction: Array) -> str:
    share = np.abs(direction)
    return ", ".join(c.v[int(i)].name() for i in np.flatnonzero(share > 0.1 * share.max()))


def dependent_rows(A: NDArray[np.float64], sizes: Sequence[int] | None = None, tolerance: float = 1e-9) -> list[int]:
    """Return the indices of rows that depend on rows before them, or vanish.

    Args:
        A: natural rows at one state, shape (k, nv).
        sizes: number of rows of each constraint; one each if not given. Rows of one constraint share a unit: a row that
            is rounding error relative to the others vanishes.
        tolerance: length of a row orthogonal to those before it, relative to the longest row of its constraint, below
            which it counts as dependent.
    """
    lengths = np.linalg.norm(A, axis=1)
    ends = np.cumsum([0, *([1] * len(A) if sizes is None else sizes)])
    for first, last in itertools.pairwise(ends):
        lengths[first:last] = lengths[first:last].max(initial=0.0)
    basis = np.zeros((0, A.shape[1]))
    dependent: list[int] = []
    for i, row in enumerate(A):
        remainder = row
        # Twice, because once leaves rounding errors along the basis.
        for _ in range(2):
            remainder = remainder - basis.T @ (basis @ remainder)
        rest = float(np.linalg.norm(remainder))
        if rest <= tolerance * lengths[i]:
            dependent.append(i)
        else:
            basis = np.vstack([basis, remainder / rest])
    return dependent
