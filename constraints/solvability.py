"""Solvability of M a = Q + Θᵀλ, Θ a = β at one state: the equations in numbers, their ranks, and what is unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.errors import ModelError, ShapeError
from ..symbolic.validation import positive, reals

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-24
"""Share of the largest diagonal entry of M below which another counts as no inertia."""
INDEFINITE = 1e-9
"""An eigenvalue of the scaled mass matrix below minus this share of the largest is more than rounding error."""


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """The equations M a = Q + Θᵀλ, Θ a = β, and units in which their numbers can be compared.

    A velocity is measured by its inertia and a row by the longest row of its constraint: with the diagonal matrices S
    and F, M̃ = S M S has ones on its diagonal, and Θ̃ = F Θ S has a row of length one in every constraint. Ranks are
    decided on these. Rows of one constraint share a unit, so that one may be small beside the others; rows of different
    constraints cannot be compared.

    Attributes:
        mass: M, shape (n, n), symmetric and positive semidefinite.
        force: Q, all forces except those of the constraints, shape (n,).
        rows: Θ, shape (m, n).
        right: β, shape (m,).
        sizes: number of rows of each constraint; one each if not given.
        names: names of the rows, m of them; ``row 0``, … if not given.
        velocities: names of the velocities, n of them; ``v0``, … if not given.
        lengths: usual length of a row of each constraint, at least, in units S; zero if not given. With it a constraint
            of which only rounding is left is recognized as vanishing.
    """

    mass: Array
    force: Array
    rows: Array
    right: Array
    sizes: Sequence[int] = ()
    names: Sequence[str] = ()
    velocities: Sequence[str] = ()
    lengths: ArrayLike = 0.0
    _lengths: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the shapes, take copies and freeze them."""
        force, right = _finite_array("force", self.force, 1), _finite_array("right", self.right, 1)
        n, m = len(force), len(right)
        mass = _finite_array("mass", self.mass, 2)
        rows = _finite_array("rows", np.zeros((0, n)) if m == 0 and not np.size(self.rows) else self.rows, 2)
        if mass.shape != (n, n) or rows.shape != (m, n):
            raise ShapeError(
                f"with {n} forces and {m} right sides, mass must have shape {(n, n)} and rows {(m, n)}; got "
                f"{mass.shape} and {rows.shape}"
            )
        uneven = float(np.abs(mass - mass.T).max(initial=0.0))
        if uneven > INDEFINITE * float(np.abs(mass).max(initial=0.0)):
            raise ModelError(f"the mass matrix must be symmetric, but M − Mᵀ has an entry of {uneven:.3g}")
        sizes = tuple(self.sizes) or (1,) * m
        if sum(sizes) != m or min(sizes, default=1) < 1:
            raise ShapeError(f"sizes must be at least 1 each and add up to the {m} rows, got {sizes}")
        names = tuple(self.names) or tuple(f"row {i}" for i in range(m))
        velocities = tuple(self.velocities) or tuple(f"v{i}" for i in range(n))
        if len(names) != m or len(velocities) != n:
            raise ShapeError(f"names and velocities must have {m} and {n} entries, got {names} and {velocities}")
        given = reals("lengths", self.lengths)
        if not (given >= 0.0).all():
            raise ShapeError(f"lengths must not be negative, got {given.tolist()}")
        lengths = np.array(np.broadcast_to(given, (len(sizes),)))
        parts = {"mass": mass, "force": force, "rows": rows, "right": right, "_lengths": lengths}
        for key, array in parts.items():
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        for key, names_ in (("sizes", sizes), ("names", names), ("velocities", velocities)):
            object.__setattr__(self, key, names_)
        least = float(np.linalg.eigvalsh(self.scaled_mass)[0]) if n else 0.0
        if least < -INDEFINITE * max(n, 1):
            raise ModelError(
                "the mass matrix must be positive semidefinite, but scaled to a unit diagonal it has the eigenvalue "
                f"{least:.3g}"
            )

    @property
    def velocity_scale(self) -> Array:
        """Diagonal of S, shape (n,): 1/√M_jj, or, if M_jj vanishes, so that the column of Θ̃ is at most one long."""
        inertia = np.diag(self.mass)
        present = inertia > NEGLIGIBLE * inertia.max(initial=0.0)
        scale = np.where(present, 1.0 / np.sqrt(np.where(present, inertia, 1.0)), 1.0)
        if present.all() or not len(self.rows):
            return scale
        heavy = self._row_scale(np.where(present, scale, 0.0), fallback=scale)
        columns = np.abs(heavy[:, None] * self.rows).max(axis=0)
        return np.where(present, scale, 1.0 / np.where(columns > 0.0, columns, 1.0))

    @property
    def row_scale(self) -> Array:
        """Diagonal of F, shape (m,): one over the longest row of the constraint; one if all of them vanish."""
        return self._row_scale(self.velocity_scale)

    @property
    def scaled_mass(self) -> Array:
        """M̃ = S M S, shape (n, n)."""
        S = self.velocity_scale
        return np.asarray(S[:, None] * self.mass * S, dtype=np.float64)

    @property
    def scaled_rows(self) -> Array:
        """Θ̃ = F Θ S, shape (m, n)."""
        return np.asarray(self.row_scale[:, None] * self.rows * self.velocity_scale, dtype=np.float64)

    def _row_scale(self, S: Array, fallback: Array | None = None) -> Array:
        lengths = np.asarray(np.linalg.norm(self.rows * S, axis=1), dtype=np.float64)
        if fallback is not None:
            others = np.asarray(np.linalg.norm(self.rows * fallback, axis=1), dtype=np.float64)
            lengths = np.where(lengths > 0.0, lengths, others)
        longest, first = np.ones(len(lengths)), 0
        for size, usual in zip(self.sizes, self._lengths, strict=True):
            whole = max(float(lengths[first : first + size].max()), float(usual))
            longest[first : first + size] = whole if whole > 0.0 else 1.0
            first += size
        return np.asarray(1.0 / longest, dtype=np.float64)


def _finite_array(name: str, value: ArrayLike, dimensions: int) -> Array:
    try:
        array = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be numbers, got {value!r}") from error
    if array.ndim != dimensions:
        raise ShapeError(f"{name} must have {dimensions} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        index = tuple(int(i[0]) for i in np.nonzero(~np.isfinite(array)))
        raise ShapeError(f"{name} must be finite, but {name}{list(index)} is {array[index]}")
    return array


SINGULAR_VALUE_TOLERANCE = 1e-9
"""Share of the largest singular value below which one counts as zero."""
REMAINDER = 1e-11
"""Part of a row outside the span of others, as a share of it, up to which it counts as dependent on them."""
CONSISTENCY = 1e-8
"""A contradiction counts above this share of the numbers whose difference it is, or of one unit of the row."""


@dataclass(frozen=True)
class Rank:
    """A rank, and how safely it was decided.

    Attributes:
        value: number of singular values that count.
        smallest_kept: smallest of these, as a share of the largest; 1 if no value counts.
        largest_dropped: largest of the others, likewise; 0 if all count.
        full: largest rank that the shape allows.
    """

    value: int
    smallest_kept: float
    largest_dropped: float
    full: int

    def __str__(self) -> str:
        """Such as ``2 of 3 (kept 0.31, dropped 1e-17)``."""
        return f"{self.value} of {self.full} (kept {self.smallest_kept:.2g}, dropped {self.largest_dropped:.2g})"


@dataclass(frozen=True)
class Dependence:
    """A row that depends on rows before it: row = Σ c_j row_j, so that β must be Σ c_j β_j.

    Attributes:
        row: name of the row.
        coefficients: c_j by the names of the rows before it, in units [row]/[row_j]; empty for a row that
            vanishes.
        remainder: part of the row outside the span of them, as a share of the longest row of its constraint.
        contradiction: β − Σ c_j β_j, in the row's unit: the amount by which it contradicts them.
        allowed: contradiction up to which it counts as rounding.
    """

    row: str
    coefficients: dict[str, float]
    remainder: float
    contradiction: float
    allowed: float

    @property
    def consistent(self) -> bool:
        """True if the row does not contradict the others."""
        return abs(self.contradiction) <= self.allowed

    def __str__(self) -> str:
        """Sentence with the row, its coefficients and the contradiction."""
        sum_ = " ".join(f"{c:+.4g}·{name!r}" for name, c in self.coefficients.items())
        what = f"{self.row!r} = {sum_}" if self.coefficients else f"{self.row!r} vanishes"
        if self.remainder > REMAINDER:
            what += f" except for {self.remainder:.2g} of the longest row of its constraint"
        verdict = "consistent" if self.consistent else f"contradictory by {self.contradiction:.6g}"
        return f"{what}: {verdict}"


@dataclass(frozen=True, eq=False)
class Solvability:
    """Solvability of M a = Q + Θᵀλ, Θ a = β at one state.

    The homogeneous equations are solved by the (a, 0) with M a = 0 and Θ a = 0, and by the (0, λ) with Θᵀλ = 0, for
    M ≥ 0. Therefore a solution exists if and only if β vanishes on every relation between the rows and Q along every
    velocity that has neither inertia nor constraint; a is unique if and only if [M; Θ] has full column rank, and λ_i if
    and only if e_i ⟂ null Θᵀ [WojtyraFraczek2013]_. With full column rank there is no such velocity.

    Attributes:
        mass: rank of M̃.
        rows: rank of Θ̃.
        together: rank of [M̃; Θ̃].
        dependences: rows that depend on those before them, m − rank of them.
        loose: velocities that have neither inertia nor constraint, by name; empty if the accelerations are unique.
        unbalanced: largest force along such a direction, as a share of the largest force; 0 without such a direction.
        unique: for each row, True if its multiplier is unique, m of them.
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
        """True if no row contradicts those before it."""
        return all(dependence.consistent for dependence in self.dependences)

    @property
    def balanced(self) -> bool:
        """True if no force acts along a velocity that has neither inertia nor constraint."""
        return self.unbalanced <= CONSISTENCY

    @property
    def solvable(self) -> bool:
        """True if the equations determine the motion: consistent rows and full column rank of [M; Θ].

        Without full rank there are many accelerations if the forces are :attr:`balanced`, and none if they are not.
        """
        return self.consistent and self.acceleration_unique

    @property
    def acceleration_unique(self) -> bool:
        """True if [M; Θ] has full column rank, so that there is at most one a."""
        return self.together.value == self.together.full


def solvability(
    motion: ConstrainedMotion, *, tolerance: float = SINGULAR_VALUE_TOLERANCE, consistency: float = CONSISTENCY
) -> Solvability:
    """Return ranks, dependences and uniqueness, by singular values in comparable units.

    Args:
        motion: the equations at one state.
        tolerance: share of the largest singular value below which one counts as zero.
        consistency: a contradiction counts above this share of the numbers whose difference it is, or of one unit of
            the row.

    Raises:
        ModelError: if a tolerance is not positive.
    """
    tolerance, consistency = positive("tolerance", tolerance), positive("consistency", consistency)
    S = motion.velocity_scale
    M, rows = motion.scaled_mass, motion.scaled_rows
    stacked = np.vstack([M, rows])
    together, _, still = null_spaces(stacked, tolerance)
    found, relations, _ = null_spaces(rows, tolerance)
    names = motion.velocities
    loose = np.abs(still).max(axis=1, initial=0.0)
    push = np.abs(still.T @ (S * motion.force)).max(initial=0.0)
    largest = float(np.abs(S * motion.force).max(initial=0.0))
    return Solvability(
        mass=null_spaces(M, tolerance)[0],
        rows=found,
        together=together,
        dependences=dependences(motion, rows, tolerance, consistency),
        loose=tuple(names[int(j)] for j in np.flatnonzero(loose > 0.1)),
        unbalanced=float(push) / largest if largest > 0.0 else 0.0,
        unique=tuple(bool(share <= 1e-6) for share in np.abs(relations).max(axis=1, initial=0.0)),
    )


def null_spaces(matrix: Array, tolerance: float = SINGULAR_VALUE_TOLERANCE) -> tuple[Rank, Array, Array]:
    """Return the rank of a matrix and orthonormal bases of its left and right null space.

    Args:
        matrix: shape (m, n), in comparable units, in which entries that do not vanish are about one.
        tolerance: share of the largest singular value below which one counts as zero.

    Returns:
        The rank, the left null space, shape (m, m − rank), and the right one, shape (n, n − rank).
    """
    U, values, Vt = np.linalg.svd(matrix)
    # Rows and inertias are about one long: values far below one are rounding even if there is nothing larger.
    shares = values / float(values.max(initial=1.0))
    rank = int((shares > tolerance).sum())
    left, right = np.asarray(U[:, rank:], dtype=np.float64), np.asarray(Vt[rank:].T, dtype=np.float64)
    smallest_kept = float(shares[rank - 1]) if rank else 1.0
    largest_dropped = float(shares[rank]) if rank < len(shares) else 0.0
    return Rank(rank, smallest_kept, largest_dropped, min(matrix.shape)), left, right


def dependences(motion: ConstrainedMotion, rows: Array, tolerance: float, consistency: float) -> tuple[Dependence, ...]:
    """Return the rows that do not increase the rank, each as a combination of the independent ones before it.

    Args:
        motion: the equations.
        rows: Θ̃ in comparable units, shape (m, n).
        tolerance: share of the largest singular value of Θ̃ below which one counts as zero.
        consistency: as for :func:`solvability`.
    """
    # One threshold for all, so that the rank never falls when a row is added, and m − rank rows are found.
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
                # Coefficients that are only rounding would name rows that do not matter.
                coefficients={
                    motion.names[j]: float(real[k]) for k, j in enumerate(independent) if abs(c[k]) > 10.0 * tolerance
                },
                remainder=float(np.linalg.norm(row - c @ basis)),
                contradiction=float(beta[i] - parts.sum()),
                allowed=consistency * max(1.0, abs(float(beta[i])) + float(np.abs(parts).sum())),
            )
        )
    return tuple(found)


def row_remainders(rows: Array, right: Array) -> tuple[Array, Array]:
    """Remainders of the right sides after the rows before them, and of the rows as a share of their lengths.

    Args:
        rows: rows in units in which velocities can be compared, shape (m, n).
        right: right sides, shape (m,).
    """
    basis, along = np.zeros_like(rows), np.zeros(len(rows))
    rest, shares = np.array(right, dtype=np.float64), np.zeros(len(rows))
    lengths = np.linalg.norm(rows, axis=1)
    for i, row in enumerate(rows):
        outside = row
        # Twice, because a single pass leaves rounding errors along the basis.
        for _ in range(2):
            parts = basis[:i] @ outside
            outside, rest[i] = outside - parts @ basis[:i], rest[i] - parts @ along[:i]
        remainder = float(np.linalg.norm(outside))
        if remainder > REMAINDER * lengths[i]:
            basis[i], along[i], shares[i] = outside / remainder, rest[i] / remainder, remainder / lengths[i]
    return rest, shares
