"""Whether the equations of a constrained motion have a solution, and what of it is unique."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..symbolic.arrays import positive
from .constrained_motion import ConstrainedMotion

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Share of the largest singular value below which one counts as zero."""
REMAINDER = 1e-11
"""What is left of a row outside others, as a share of it, up to which it depends on them as far as can be told."""
CONSISTENCY = 1e-8
"""A contradiction counts from this share of the numbers that it is the difference of, or of one unit of the row."""


@dataclass(frozen=True)
class Rank:
    """A rank, and how safely it was decided.

    Attributes:
        value: how many singular values were kept.
        kept: the smallest that was kept, as a share of the largest; 1 if none was.
        dropped: the largest that was dropped, likewise; 0 if none was.
        full: the rank that the shape would allow.
    """

    value: int
    kept: float
    dropped: float
    full: int

    def __str__(self) -> str:
        """Such as ``2 of 3 (kept 0.31, dropped 1e-17)``."""
        return f"{self.value} of {self.full} (kept {self.kept:.2g}, dropped {self.dropped:.2g})"


@dataclass(frozen=True)
class Dependence:
    """A row that depends on rows before it: row = Σ c_j row_j, and so β must be Σ c_j β_j.

    Attributes:
        row: its name.
        on: the coefficients c_j by the names of the rows before it, in units [row]/[row_j]; empty for a row that
            vanishes.
        left: what is left of the row outside of them, as a share of the longest row of its constraint.
        contradiction: β − Σ c_j β_j, in the row's unit: by how much it contradicts them.
        allowed: the contradiction that still passes for rounding.
    """

    row: str
    on: dict[str, float]
    left: float
    contradiction: float
    allowed: float

    @property
    def consistent(self) -> bool:
        """Whether the row says what the others say."""
        return abs(self.contradiction) <= self.allowed

    def __str__(self) -> str:
        """A sentence."""
        sum_ = " ".join(f"{c:+.4g}·{name!r}" for name, c in self.on.items())
        what = f"{self.row!r} = {sum_}" if self.on else f"{self.row!r} vanishes"
        if self.left > REMAINDER:
            what += f" but for {self.left:.2g} of the longest row of its constraint"
        said = "consistent" if self.consistent else f"contradictory by {self.contradiction:.6g}"
        return f"{what}: {said}"


@dataclass(frozen=True, eq=False)
class Solvability:
    """What can be said of M a = Q + Θᵀλ, Θ a = β at one state.

    The homogeneous equations are solved by the (a, 0) with M a = 0 and Θ a = 0, and by the (0, λ) with Θᵀλ = 0, for
    M ≥ 0. Therefore a solution exists if and only if β vanishes on every relation between the rows and Q along every
    velocity that has neither inertia nor constraint; a is unique if and only if [M; Θ] has full column rank, and λ_i if
    and only if e_i ⟂ null Θᵀ [WojtyraFraczek2013]_. With full column rank there is nothing left for Q to act along.

    Attributes:
        mass: rank of M̃.
        rows: rank of Θ̃.
        together: rank of [M̃; Θ̃].
        dependences: rows that depend on those before them, m − rank of them.
        loose: velocities that have neither inertia nor constraint, by name; empty if the accelerations are unique.
        unbalanced: the largest force along such a direction, as a share of the largest force; 0 if there is none.
        unique: whether the multiplier of each row is, m of them.
    """

    mass: Rank
    rows: Rank
    together: Rank
    dependences: tuple[Dependence, ...]
    loose: tuple[str, ...]
    unbalanced: float
    unique: tuple[bool, ...]

    @property
    def consistent(self) -> bool:
        """Whether no row contradicts those before it."""
        return all(dependence.consistent for dependence in self.dependences)

    @property
    def balanced(self) -> bool:
        """Whether no force acts along a velocity that has neither inertia nor constraint."""
        return self.unbalanced <= CONSISTENCY

    @property
    def solvable(self) -> bool:
        """Whether the equations determine the motion: consistent rows and full column rank of [M; Θ].

        Without full rank there are many accelerations if the forces are :attr:`balanced`, and none if they are not.
        """
        return self.consistent and self.acceleration_unique

    @property
    def acceleration_unique(self) -> bool:
        """Whether [M; Θ] has full column rank, so that there is at most one a."""
        return self.together.value == self.together.full


def solvability(
    motion: ConstrainedMotion, *, tolerance: float = TOLERANCE, consistency: float = CONSISTENCY
) -> Solvability:
    """Ranks, dependences and what is unique, by singular values in comparable units.

    Args:
        motion: one state in numbers.
        tolerance: share of the largest singular value below which one counts as zero.
        consistency: a contradiction counts from this share of the numbers that it is the difference of, or of one unit
            of the row.

    Raises:
        ModelError: for a tolerance that is not positive.
    """
    tolerance, consistency = positive("tolerance", tolerance), positive("consistency", consistency)
    S = motion.velocity_scale
    M, rows = motion.scaled_mass, motion.scaled_rows
    stacked = np.vstack([M, rows])
    together, _, still = null(stacked, tolerance)
    found, relations, _ = null(rows, tolerance)
    names = motion.velocities
    loose = np.abs(still).max(axis=1, initial=0.0)
    push = np.abs(still.T @ (S * motion.force)).max(initial=0.0)
    largest = float(np.abs(S * motion.force).max(initial=0.0))
    return Solvability(
        mass=null(M, tolerance)[0],
        rows=found,
        together=together,
        dependences=dependences(motion, rows, tolerance, consistency),
        loose=tuple(names[int(j)] for j in np.flatnonzero(loose > 0.1)),
        unbalanced=float(push) / largest if largest > 0.0 else 0.0,
        unique=tuple(bool(share <= 1e-6) for share in np.abs(relations).max(axis=1, initial=0.0)),
    )


def null(matrix: Array, tolerance: float = TOLERANCE) -> tuple[Rank, Array, Array]:
    """Rank of a matrix and orthonormal bases of its left and right null space.

    Args:
        matrix: shape (m, n), in comparable units, in which what does not vanish is about one.
        tolerance: share of the largest singular value below which one counts as zero.

    Returns:
        The rank, the left null space, shape (m, m − rank), and the right one, shape (n, n − rank).
    """
    U, values, Vt = np.linalg.svd(matrix)
    # Rows and inertias are about one long: what is far below one is rounding even if there is nothing larger.
    shares = values / float(values.max(initial=1.0))
    rank = int((shares > tolerance).sum())
    left, right = np.asarray(U[:, rank:], dtype=np.float64), np.asarray(Vt[rank:].T, dtype=np.float64)
    kept = float(shares[rank - 1]) if rank else 1.0
    dropped = float(shares[rank]) if rank < len(shares) else 0.0
    return Rank(rank, kept, dropped, min(matrix.shape)), left, right


def dependences(motion: ConstrainedMotion, rows: Array, tolerance: float, consistency: float) -> tuple[Dependence, ...]:
    """Rows by which the rank does not grow, each as a combination of the independent ones before it.

    Args:
        motion: the equations.
        rows: Θ̃ in comparable units, shape (m, n).
        tolerance: share of the largest singular value of Θ̃ below which one counts as zero.
        consistency: as for :func:`solvability`.
    """
    # One threshold for all, so that the rank never falls when a row is added and m − rank rows are found.
    least = tolerance * max(1.0, float(np.linalg.norm(rows, 2))) if rows.size else 0.0
    F, beta = motion.row_scale, motion.right
    independent: list[int] = []
    found: list[Dependence] = []
    for i, row in enumerate(rows):
        basis = rows[independent]
        room = len(independent) < rows.shape[1]
        if room and np.linalg.svd(rows[[*independent, i]], compute_uv=False)[-1] > least:
            independent.append(i)
            continue
        c = np.asarray(np.linalg.lstsq(basis.T, row, rcond=None)[0] if independent else (), dtype=np.float64)
        real = c * F[independent] / F[i]
        parts = real * beta[independent]
        found.append(
            Dependence(
                row=motion.names[i],
                # Coefficients that are nothing but rounding name rows that the row has nothing to do with.
                on={motion.names[j]: float(real[k]) for k, j in enumerate(independent) if abs(c[k]) > 10.0 * tolerance},
                left=float(np.linalg.norm(row - c @ basis)),
                contradiction=float(beta[i] - parts.sum()),
                allowed=consistency * max(1.0, abs(float(beta[i])) + float(np.abs(parts).sum())),
            )
        )
    return tuple(found)


def remainders(rows: Array, right: Array) -> tuple[Array, Array]:
    """What those before it leave of each right side, and of each row as a share of it.

    Args:
        rows: in units in which velocities can be compared, shape (m, n).
        right: shape (m,).
    """
    basis, along = np.zeros_like(rows), np.zeros(len(rows))
    rest, left = np.array(right, dtype=np.float64), np.zeros(len(rows))
    lengths = np.linalg.norm(rows, axis=1)
    for i, row in enumerate(rows):
        outside = row
        # Twice, because once leaves rounding errors along the basis.
        for _ in range(2):
            parts = basis[:i] @ outside
            outside, rest[i] = outside - parts @ basis[:i], rest[i] - parts @ along[:i]
        remainder = float(np.linalg.norm(outside))
        if remainder > REMAINDER * lengths[i]:
            basis[i], along[i], left[i] = outside / remainder, rest[i] / remainder, remainder / lengths[i]
    return rest, left
