"""Natural constraints A a = b: their acceleration form, their dependent rows, and how they replace missing inertia.

Where M is singular in every position, the motion can still be determined: if and only if [M; A] has full column rank.
Adding Aᵀ C (A a − b) = 0 to the equations of motion changes neither a nor μ, for any C > 0, and makes the matrix before
a regular, [Deressa2015]_ section 1.2.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters
from ..symbolic.sampling import sample_values

Array = NDArray[np.float64]

SINGULAR_TOLERANCE = 1e-13
"""A singular value counts as zero below this share of the largest, where all columns are made equally long.

A chain of a hundred links, which is regular, has 2e-9; what is zero but for rounding has 1e-16.
"""


def augmentation(name: str, c: Coordinates, parameters: Parameters, mass_matrix: ca.SX, A: ca.SX) -> ca.DM:
    """Diagonal of C in M + Aᵀ C A: zero where M is regular at any of the sampled positions, else of the size of M.

    Args:
        name: of the robot, for messages.
        c: coordinates of the robot.
        parameters: of the robot.
        mass_matrix: M, shape (nv, nv).
        A: rows of the natural constraints, shape (k, nv).

    Raises:
        ModelError: if M is singular and [M; A] has not full column rank.
    """
    rows = A.size1()
    found: list[tuple[Array, Array]] = []
    for M, rows_A in sample_values({"M": mass_matrix, "A": A}, _symbols(c), parameters):
        if not np.isfinite(M).all() or not np.isfinite(rows_A).all() or not _deficient(M):
            return ca.DM.zeros(rows, 1)
        found.append((M, rows_A))
    for M, rows_A in found:
        _require_rank(name, c, M, rows_A)
    M, rows_A = found[0]
    size = np.trace(M) / max(np.count_nonzero(np.diag(M)), 1)
    lengths = np.maximum(np.sum(rows_A**2, axis=1), np.finfo(float).tiny)
    return ca.DM((size or 1.0) / lengths)


def require_regular_mass_matrix(name: str, c: Coordinates, parameters: Parameters, mass_matrix: ca.SX) -> None:
    """Raise ModelError if M is singular at all sampled positions.

    Args:
        name: of the robot, for messages.
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
        f"{name}: the mass matrix is singular in every position: {_moving(c, vectors[-1])} can change "
        "without inertia. Give it a mass, or hold it by a natural constraint"
    )


def _symbols(c: Coordinates) -> dict[str, ca.SX]:
    return {"t": c.t, "q": c.q, "v": c.v}


def _deficient(M: Array) -> bool:
    """Whether M, with columns made equally long so that kg and kg m² weigh the same, has a singular value near zero."""
    if not M.size:
        return False
    values = np.linalg.svd(M / _lengths(M), compute_uv=False)
    return bool(values[-1] <= SINGULAR_TOLERANCE * values[0])


def _lengths(matrix: Array) -> Array:
    lengths = np.linalg.norm(matrix, axis=0)
    return np.where(lengths > 0.0, lengths, 1.0)


def _require_rank(name: str, c: Coordinates, M: Array, A: Array) -> None:
    """The same scale for the columns of M and A: only then is their common null space kept."""
    rows = np.linalg.norm(A, axis=1, keepdims=True)
    size = np.abs(M).max() or 1.0
    stacked = np.vstack([M / size, A / np.where(rows > 0.0, rows, 1.0)])
    scale = _lengths(stacked)
    _, values, vectors = np.linalg.svd(stacked / scale)
    if values[-1] > SINGULAR_TOLERANCE * values[0]:
        return
    raise ModelError(
        f"{name}: the mass matrix is singular, and no natural constraint holds what has no inertia: "
        f"{_moving(c, vectors[-1])} can change without either. Give it a mass, or add a constraint on it"
    )


def _moving(c: Coordinates, direction: Array) -> str:
    share = np.abs(direction)
    return ", ".join(c.v[int(i)].name() for i in np.flatnonzero(share > 0.1 * share.max()))


def natural_form(natural: Sequence[Constraint], c: Coordinates, parameters: Parameters) -> tuple[ca.SX, ca.SX]:
    """A, shape (k, nv), and b, shape (k,), of A a = b.

    Args:
        natural: constraints that the world enforces.
        c: coordinates of the robot.
        parameters: of the robot; what the constraints use beyond them are gains, which become numbers.

    Raises:
        ModelError: for a constraint that is not affine in the accelerations.
    """
    forms = [constraint.acceleration_form(c) for constraint in natural]
    for constraint, form in zip(natural, forms, strict=True):
        if not form.is_affine:
            raise ModelError(
                f"natural constraint {constraint.name!r} is not affine in the accelerations: its reaction would have "
                "no one direction; impose it as a program constraint"
            )
    theta = ca.vertcat(ca.SX(0, c.nv), *(form.theta for form in forms))
    beta = ca.vertcat(ca.SX(0, 1), *(form.beta for form in forms))
    # Their gains are the world's, not a user's: they are numbers. What else they use are the robot's parameters.
    own = set(parameters.names)
    gains = [(s, f.parameters.nominal[n]) for f in forms for n, s in f.parameters if n not in own]
    symbols = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in gains))
    numbers = ca.SX(ca.DM([value for _, value in gains]))
    return ca.substitute(theta, symbols, numbers), ca.substitute(beta, symbols, numbers)


def require_unconditional(owner: str, natural: Sequence[Constraint]) -> Sequence[Constraint]:
    """The same constraints, none of which may have a condition: the world's own are made and broken by impacts.

    Args:
        owner: the robot's name, for the message.
        natural: constraints that the world enforces.

    Raises:
        ModelError: for one with a condition.
    """
    for constraint in natural:
        if constraint.when is not None:
            raise ModelError(
                f"{owner}: natural constraint {constraint.name!r} has a condition; only program constraints are "
                "switched. Use a robot with it and one without, or contacts, and simulate one after the other"
            )
    return natural


def dependent_rows(A: NDArray[np.float64], sizes: Sequence[int] | None = None, tolerance: float = 1e-9) -> list[int]:
    """Places of the rows that depend on rows before them, or vanish.

    Args:
        A: natural rows at one state, shape (k, nv).
        sizes: how many rows each constraint has; one each if not given. Rows of one constraint share a unit: one that
            is nothing but rounding beside the others vanishes.
        tolerance: what is left of a row outside those before it, as a share of the longest of its constraint, that
            counts as nothing.
    """
    lengths = np.linalg.norm(A, axis=1)
    ends = np.cumsum([0, *([1] * len(A) if sizes is None else sizes)])
    for first, last in itertools.pairwise(ends):
        lengths[first:last] = lengths[first:last].max(initial=0.0)
    basis = np.zeros((0, A.shape[1]))
    dependent: list[int] = []
    for i, row in enumerate(A):
        left = row
        # Twice, because once leaves rounding errors along the basis.
        for _ in range(2):
            left = left - basis.T @ (basis @ left)
        rest = float(np.linalg.norm(left))
        if rest <= tolerance * lengths[i]:
            dependent.append(i)
        else:
            basis = np.vstack([basis, left / rest])
    return dependent
