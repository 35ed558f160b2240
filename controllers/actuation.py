"""What the inputs of a robot can do to the rows of a program at one state, natural reactions taken into account."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..constraints.constrained_motion import ConstrainedMotion
from ..constraints.solvability import Rank, null
from ..constraints.ways.way import truncated

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Actuation:
    """Whether M a + h = B u + Aᵀμ, A a = b and Θ a = β hold together for some u.

    Attributes:
        realizable: whether they do.
        reach: rank of what inputs change in Θ a; with as many as rows the program is realisable whatever β is.
        unreached: rows of the program that no input changes.
        missing_rows: Θ a − β at the inputs that come nearest, in the unit of each row, shape (m,).
        best: u that comes nearest to the ideal force R, in the metric M⁻¹, shape (nu,); NaN without such a force.
        missing_force: R − B u − Aᵀμ there, shape (nv,). It may be large although the program is realisable, by another
            motion than that of the ideal force.
    """

    realizable: bool
    reach: Rank
    unreached: tuple[str, ...]
    missing_rows: Array
    best: Array
    missing_force: Array


def actuation(
    natural: ConstrainedMotion,
    program: ConstrainedMotion,
    B: Array,
    ideal: Array | None,
    *,
    tolerance: float,
    consistency: float,
) -> Actuation:
    """What inputs can do.

    The motions that they can make are a₀ + N z with N from the null space of [M −B −Aᵀ; A 0 0]; what they change in the
    rows is Θ N.

    Args:
        natural: M, −h, A and b.
        program: M, −h, Θ and β, in the same units of velocities.
        B: input matrix, shape (nv, nu).
        ideal: R = Θᵀλ, shape (nv,), if there is one.
        tolerance: share of the largest singular value below which one counts as zero.
        consistency: what a row misses counts from this share of its numbers, or of one unit of it.
    """
    S, theta, beta = natural.velocity_scale, program.rows * natural.velocity_scale, program.right
    M, A = natural.scaled_mass, natural.scaled_rows
    k, n = A.shape
    drives = S[:, None] * B
    strength = np.linalg.norm(drives, axis=0)
    drives = drives / np.where(strength > 0.0, strength, 1.0)
    free = np.block([[M, -drives, -A.T], [A, np.zeros((k, B.shape[1] + k))]])
    right = np.concatenate([S * natural.force, natural.row_scale * natural.right])
    rank, _, still = null(free, tolerance)
    start = truncated(free, right, rank.value)
    rest = free @ start - right
    possible = bool(np.abs(rest).max(initial=0.0) <= consistency * max(1.0, float(np.abs(right).max(initial=0.0))))
    # Directions that change no acceleration are left, and rounding in them, when the rows are multiplied by them.
    F = program.row_scale
    gain = (F[:, None] * theta) @ still[:n]
    silent = np.abs(gain).max(axis=1, initial=0.0) <= tolerance
    reach = replace(null(gain, tolerance)[0], full=len(gain))
    wanted = F * beta - F[:, None] * theta @ start[:n]
    change = truncated(gain, wanted, reach.value) if reach.value else np.zeros(gain.shape[1])
    missed = (gain @ change - wanted) / F
    size = np.abs(beta) + np.abs(theta) @ np.abs(start[:n] + still[:n] @ change)
    best, missing = np.full(B.shape[1], np.nan), np.full(n, np.nan)
    if ideal is not None:
        best, missing = _nearest(M, drives, A, S * ideal, tolerance)
        best, missing = best / np.where(strength > 0.0, strength, 1.0), missing / S
    return Actuation(
        realizable=possible and bool((np.abs(missed) <= consistency * np.maximum(1.0, size)).all()),
        reach=reach,
        unreached=tuple(name for name, none in zip(program.names, silent, strict=True) if none),
        missing_rows=missed,
        best=best,
        missing_force=missing,
    )


def _nearest(M: Array, drives: Array, A: Array, R: Array, tolerance: float) -> tuple[Array, Array]:
    """u and R − B u − Aᵀμ of least length in the metric (M + AᵀA)⁻¹, or in none if that is singular."""
    metric = M + A.T @ A
    values, vectors = np.linalg.eigh(metric)
    definite = bool(values.size and values[0] > tolerance * values[-1])
    weigh = (vectors / np.sqrt(values)).T if definite else np.eye(len(R))
    pushes = np.hstack([drives, A.T])
    whole = weigh @ pushes
    rank = null(whole, tolerance)[0].value
    x = truncated(whole, weigh @ R, rank) if rank else np.zeros(pushes.shape[1])
    return x[: drives.shape[1]], np.asarray(R - pushes @ x, dtype=np.float64)
