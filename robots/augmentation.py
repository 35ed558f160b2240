"""Natural constraints that take the place of inertia where the mass matrix is singular.

Where M is singular in every position, the motion can still be determined: if and only if [M; A] has full column rank.
Adding Aᵀ C (A a − b) = 0 to the equations of motion changes neither a nor μ, for any C > 0, and makes the matrix before
a regular, [Deressa2015]_ section 1.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError
from ..symbolic.samples import samples

if TYPE_CHECKING:
    from .robot import Robot

Array = NDArray[np.float64]

TOLERANCE = 1e-13
"""A singular value counts as zero below this share of the largest, where all columns are made equally long.

A chain of a hundred links, which is regular, has 2e-9; what is zero but for rounding has 1e-16.
"""


def augmentation(robot: Robot) -> ca.DM:
    """Diagonal of C in M + Aᵀ C A: zero where M is regular at any of the sampled positions, else of the size of M.

    Args:
        robot: with natural constraints; without them nothing can be added.

    Raises:
        ModelError: if M is singular and [M; A] has not full column rank.
    """
    A, _ = robot.natural_form
    rows = A.size1()
    if rows == 0:
        return ca.DM.zeros(0, 1)
    found: list[tuple[Array, Array]] = []
    for M, rows_A in _sampled(robot, {"M": robot.mass_matrix, "A": A}):
        if not np.isfinite(M).all() or not np.isfinite(rows_A).all() or not _deficient(M):
            return ca.DM.zeros(rows, 1)
        found.append((M, rows_A))
    for M, rows_A in found:
        _require_rank(robot, M, rows_A)
    M, rows_A = found[0]
    size = np.trace(M) / max(np.count_nonzero(np.diag(M)), 1)
    lengths = np.maximum(np.sum(rows_A**2, axis=1), np.finfo(float).tiny)
    return ca.DM((size or 1.0) / lengths)


def require_regular(robot: Robot) -> None:
    """Raise ModelError if the robot has no natural constraints and M is singular at all sampled positions.

    Args:
        robot: about to be moved by numbers.
    """
    nv = robot.coordinates.nv
    if robot.natural or nv == 0:
        return
    M = np.zeros((nv, nv))
    for (M,) in _sampled(robot, {"M": robot.mass_matrix}):
        if not np.isfinite(M).all() or not _deficient(M):
            return
    _, _, vectors = np.linalg.svd(M / _lengths(M))
    raise ModelError(
        f"{robot.name}: the mass matrix is singular in every position: {_moving(robot, vectors[-1])} can change "
        "without inertia. Give it a mass, or hold it by a natural constraint"
    )


def _sampled(robot: Robot, expressions: Mapping[str, ca.SX]) -> Iterator[list[Array]]:
    c = robot.coordinates
    return samples(expressions, {"t": c.t, "q": c.q, "v": c.v}, robot.parameters)


def _deficient(M: Array) -> bool:
    """Whether M, with columns made equally long so that kg and kg m² weigh the same, has a singular value near zero."""
    if not M.size:
        return False
    values = np.linalg.svd(M / _lengths(M), compute_uv=False)
    return bool(values[-1] <= TOLERANCE * values[0])


def _lengths(matrix: Array) -> Array:
    lengths = np.linalg.norm(matrix, axis=0)
    return np.where(lengths > 0.0, lengths, 1.0)


def _require_rank(robot: Robot, M: Array, A: Array) -> None:
    """The same scale for the columns of M and A: only then is their common null space kept."""
    rows = np.linalg.norm(A, axis=1, keepdims=True)
    size = np.abs(M).max() or 1.0
    stacked = np.vstack([M / size, A / np.where(rows > 0.0, rows, 1.0)])
    scale = _lengths(stacked)
    _, values, vectors = np.linalg.svd(stacked / scale)
    if values[-1] > TOLERANCE * values[0]:
        return
    raise ModelError(
        f"{robot.name}: the mass matrix is singular, and no natural constraint holds what has no inertia: "
        f"{_moving(robot, vectors[-1])} can change without either. Give it a mass, or add a constraint on it"
    )


def _moving(robot: Robot, direction: Array) -> str:
    share = np.abs(direction)
    return ", ".join(robot.v[int(i)].name() for i in np.flatnonzero(share > 0.1 * share.max()))
