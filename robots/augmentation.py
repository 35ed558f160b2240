"""Natural constraints that take the place of inertia where the mass matrix is singular.

Where M is singular in every position, the motion can still be determined: if and only if [M; A] has full column rank.
Adding Aᵀ C (A a − b) = 0 to the equations of motion changes neither a nor μ, for any C > 0, and makes the matrix before
a regular, [Deressa2015]_ section 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import Range

if TYPE_CHECKING:
    from .robot import Robot

Array = NDArray[np.float64]

SAMPLES = 3
"""Random positions at which the rank is looked at: a property that holds at all of them holds almost everywhere."""

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
    rows, nv = A.shape
    if rows == 0:
        return ca.DM.zeros(0, 1)
    c = robot.coordinates
    kernel = Kernel(
        "augmentation",
        {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
        {"M": robot.mass_matrix, "A": A},
        compiled=False,
    )
    rng = np.random.default_rng(1952)
    p = _numbers(robot, rng)
    found: list[tuple[Array, Array]] = []
    for _ in range(SAMPLES):
        M, rows_A = kernel(0.0, rng.uniform(0.3, 1.3, c.nq), rng.uniform(-1.0, 1.0, nv), p)
        M, rows_A = M.reshape(nv, nv), rows_A.reshape(rows, nv)
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
    c = robot.coordinates
    if robot.natural or c.nv == 0:
        return
    kernel = Kernel("mass_matrix", {"t": c.t, "q": c.q, "p": robot.p}, {"M": robot.mass_matrix}, compiled=False)
    rng = np.random.default_rng(1952)
    p = _numbers(robot, rng)
    M = np.zeros((c.nv, c.nv))
    for _ in range(SAMPLES):
        M = kernel(0.0, rng.uniform(0.3, 1.3, c.nq), p)[0].reshape(c.nv, c.nv)
        if not np.isfinite(M).all() or not _deficient(M):
            return
    _, _, vectors = np.linalg.svd(M / _lengths(M))
    raise ModelError(
        f"{robot.name}: the mass matrix is singular in every position: {_moving(robot, vectors[-1])} can change "
        "without inertia. Give it a mass, or hold it by a natural constraint"
    )


def _numbers(robot: Robot, rng: np.random.Generator) -> Array:
    """Nominal parameters; any allowed number for those that have no nominal value."""
    given = robot.nominal
    ranges = robot.parameters.ranges
    return np.array(
        [
            given[name] if name in given else 1.0 if ranges.get(name) is Range.SIGN else rng.uniform(0.5, 1.5)
            for name in robot.parameters.names
        ]
    )


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
