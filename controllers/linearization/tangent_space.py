"""Tangent space of the states that natural constraints allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, SingularProgramError, unknown_name

Array = NDArray[np.float64]

RANK = 1e-9
"""A singular value counts as zero below this share of the largest."""
CONDITION = 1e-6
"""Smallest singular value allowed of the rows of the coordinates chosen as independent."""
BRACKETS = 3
"""Number of rounds of Lie brackets of the columns of N."""


@dataclass(frozen=True, eq=False)
class TangentBasis:
    """A basis of the variations δx = (δq, δv) = T ξ of a state, in which ξ are some of the entries of δx themselves.

    The rows of T at ``independent`` are the identity. They remain so along a motion, so ξ̇ are the same entries of ẋ,
    and no derivative of T is needed.

    Attributes:
        basis: T, shape (nq + nv, n).
        independent: indices of ξ in x = (q, v), n of them.
    """

    basis: Array
    independent: tuple[int, ...]


def tangent_basis(
    motions: Array, place: Array, by_place: Array, by_velocity: Array, chosen: Sequence[int] | None, owner: str
) -> TangentBasis:
    """Solve φ_q δq = 0 and ρ_q δq + ρ_v δv = 0 in terms of independent entries of the variations.

    Args:
        motions: directions that span all motions of q, shape (nq, k): the columns of N and their Lie brackets.
        place: φ_q, shape (m₀, nq).
        by_place: ρ_q, shape (m, nq).
        by_velocity: ρ_v, shape (m, nv).
        chosen: indices in x = (q, v) of the independent entries; the best conditioned if None.
        owner: name of the robot, for messages.

    Raises:
        ModelError: if the chosen entries do not determine the variations.
        SingularProgramError: if the constraints' velocity rows lose rank at this state, which then has no tangent
            space.
    """
    nq, nv = place.shape[1], by_velocity.shape[1]
    desired = None if chosen is None else [i for i in chosen if i < nq]
    rates = None if chosen is None else [i - nq for i in chosen if i >= nq]
    P, first = _echelon_basis(_null(np.vstack([place, _null(motions.T).T])), desired, owner, "coordinates")
    V, second = _echelon_basis(_null(by_velocity), rates, owner, "velocities")
    owed = by_place @ P
    W = -np.linalg.lstsq(by_velocity, owed, rcond=RANK)[0] if len(owed) else np.zeros((nv, P.shape[1]))
    left = np.abs(by_velocity @ W + owed).max(initial=0.0)
    if not left <= 1e-7 * max(1.0, float(np.abs(by_place).max(initial=0.0))):
        raise SingularProgramError(
            f"{owner}: the natural constraints are singular here: velocities near this state miss them by "
            f"{left:.3g} per unit, so there is no tangent space to linearize in; use a state away from there"
        )
    W = W - V @ W[list(second)]
    basis = np.block([[P, np.zeros((nq, V.shape[1]))], [W, V]])
    # Zeros must be exact: rounding would show in names and zeros of A.
    basis[np.abs(basis) < 1e-15] = 0.0
    return TangentBasis(basis, (*first, *(nq + i for i in second)))


def accessible_directions(N: ca.SX, q: ca.SX) -> ca.SX:
    """Return the columns of N and their Lie brackets, which span the accessible directions of the coordinates.

    A quaternion stays on its sphere, while a rolling wheel can reach any position in the plane.

    Args:
        N: matrix of q̇ = N(q) v, shape (nq, nv).
        q: coordinates, shape (nq,).
    """
    nq, nv = N.shape
    if not ca.depends_on(N, q):
        return N
    first = [N[:, j] for j in range(nv)]
    columns, newest = list(first), list(first)
    for _ in range(BRACKETS):
        newest = [ca.jtimes(y, q, x) - ca.jtimes(x, q, y) for x in first for y in newest if x is not y]
        newest = [bracket for bracket in newest if not ca.sparsify(ca.simplify(bracket)).is_zero()]
        columns += newest
        if not newest or len(columns) > 20 * nq:
            break
    return ca.densify(ca.horzcat(*columns))


def named_indices(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """Return the sorted indices of names.

    Args:
        names: names of entries of the state.
        known: names of all entries, in order.

    Raises:
        ModelError: for an unknown or repeated name.
    """
    for name in names:
        if name not in known:
            raise ModelError(unknown_name("coordinate or velocity", name, known))
    if len(set(names)) < len(names):
        raise ModelError(f"independent coordinates must differ, got {', '.join(names)}")
    return sorted(known.index(name) for name in names)


def _null(rows: Array) -> Array:
    """Return orthonormal columns that span the null space; the identity without rows."""
    n = rows.shape[1]
    if not rows.size or not np.any(rows):
        return np.eye(n)
    _, values, vectors = np.linalg.svd(rows)
    rank = int(np.count_nonzero(values > RANK * values[0]))
    return np.asarray(vectors[rank:].T)


def _echelon_basis(
    basis: Array, chosen: Sequence[int] | None, owner: str, quantity: str
) -> tuple[Array, tuple[int, ...]]:
    """Return the basis of the same space whose rows at some indices are the identity, and those indices."""
    from scipy import linalg  # takes long to import

    n, k = basis.shape
    if k == n and chosen is None:
        return np.eye(n), tuple(range(n))
    if chosen is None:
        pivots = np.asarray(linalg.qr(basis.T, mode="economic", pivoting=True)[2], dtype=np.int64)
        places = sorted(pivots[:k].tolist())
    else:
        places = list(chosen)
    if len(places) != k:
        raise ModelError(f"{owner}: {k} of the {quantity} are independent here, but {len(places)} were chosen")
    if k == 0:
        return np.zeros((n, 0)), ()
    part = basis[places]
    if np.linalg.svd(part, compute_uv=False)[-1] < CONDITION:
        raise ModelError(
            f"{owner}: the chosen {quantity} do not determine the others here: choose others, or leave independent= out"
        )
    return np.asarray(np.linalg.solve(part.T, basis.T).T, dtype=np.float64), tuple(places)
