"""Contact and impact as systems of linear equations, written out whole and solved at once.

Ends of telescopic links come from :mod:`telescopic_bodies`, with their Jacobians and accelerations by hand. Nothing is
eliminated: accelerations and reactions, or velocities and impulses, are the unknowns of one matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .telescopic_bodies import Structure, path

Array = NDArray[np.float64]


class Foot(NamedTuple):
    """An end of a link in the plane: place, Jacobian and acceleration without q''."""

    place: Array
    jacobian: Array
    drift: Array


def foot(s: Structure, q: Array, v: Array, link: int) -> Foot:
    """The end of a link from 1, or the pole for 0."""
    n, start = len(s.rods), 2 * s.floating
    place, J, drift = (q[:2].copy() if s.floating else np.zeros(2)), np.zeros((2, s.nv)), np.zeros(2)
    if s.floating:
        J[:, :2] = np.eye(2)
    for k, _ in path(s, link - 1, 1.0):
        (angle, length), (turning, stretching) = ((x[start + k], x[start + n + k]) for x in (q, v))
        along, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        place = place + length * along
        J[:, start + k], J[:, start + n + k] = length * across, along
        drift = drift - length * turning**2 * along + 2.0 * stretching * turning * across
    return Foot(place, J, drift)


def lengths(s: Structure, links: tuple[int, ...]) -> Array:
    """Rows that hold the lengths of links, from 1, shape (k, nv)."""
    rows = np.zeros((len(links), s.nv))
    for row, i in enumerate(links):
        rows[row, 2 * s.floating + len(s.rods) + i - 1] = 1.0
    return rows


def together(M: Array, A: Array, upper: Array, lower: Array) -> tuple[Array, Array]:
    """x and y of M x − Aᵀ y = upper, A x = lower; the least y if there are many."""
    k = len(A)
    whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
    # Equal units make the rank a matter of geometry; the least y is taken afterwards, in its own units.
    scale = np.concatenate([1.0 / np.sqrt(np.diag(M)), np.ones(k)])
    found = (
        scale * np.linalg.lstsq(scale[:, None] * whole * scale, scale * np.concatenate([upper, lower]), rcond=1e-13)[0]
    )
    x = found[: len(M)]
    y = np.linalg.lstsq(A.T, M @ x - upper, rcond=1e-12)[0]
    return x, np.asarray(y, dtype=np.float64)


def struck(M: Array, A: Array, v: Array) -> tuple[Array, Array]:
    """v⁺ and Λ of an impact after which A v⁺ = 0."""
    return together(M, A, M @ v, np.zeros(len(A)))


def bounced(M: Array, A: Array, v: Array, normals: Array, e: float) -> tuple[Array, Array]:
    """v⁺ and Λ if the normal impulses, normals @ Λ, are given back by the share e, and all else is held.

    The unknowns are v⁺ and Λ; A v⁺ = 0 is required in all directions but the normals, whose impulses are given.
    """
    _, first = struck(M, A, v)
    nv, k = len(M), len(A)
    across = np.linalg.svd(normals)[2][len(normals) :]
    whole = np.block([[M, -A.T], [across @ A, np.zeros((len(across), k))], [np.zeros((len(normals), nv)), normals]])
    right = np.concatenate([M @ v, np.zeros(len(across)), (1.0 + e) * normals @ first])
    found = np.linalg.lstsq(whole, right, rcond=1e-14)[0]
    return np.asarray(found[:nv], dtype=np.float64), np.asarray(found[nv:], dtype=np.float64)
