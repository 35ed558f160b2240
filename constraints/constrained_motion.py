"""One state of a constrained motion in numbers: M a = Q + Θᵀλ with Θ a = β."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import reals
from ..symbolic.errors import ModelError, ShapeError

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-24
"""Share of the largest diagonal entry of M below which another is no inertia at all."""
INDEFINITE = 1e-9
"""An eigenvalue of the scaled mass matrix below minus this share of the largest is no rounding error."""


@dataclass(frozen=True, eq=False)
class ConstrainedMotion:
    """The equations M a = Q + Θᵀλ, Θ a = β, and units in which their numbers can be compared.

    A velocity is measured by its inertia and a row by the largest of its constraint: with the diagonal matrices S and
    F, M̃ = S M S has ones on its diagonal, and Θ̃ = F Θ S has a row of length one in every constraint. Ranks are judged
    on these. Rows of one constraint share a unit, so that one may be small beside the others; rows of different ones
    cannot be compared.

    Attributes:
        mass: M, shape (n, n), symmetric and positive semidefinite.
        force: Q, every force but the constraints', shape (n,).
        rows: Θ, shape (m, n).
        right: β, shape (m,).
        sizes: how many rows each constraint has; one each if not given.
        names: of the rows, m of them; ``row 0``, … if not given.
        velocities: names of the velocities, n of them; ``v0``, … if not given.
        lengths: the length that a row of each constraint usually has, at least, in units S; zero if not given. With it
            a constraint of which nothing but rounding is left is seen to vanish.
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
        force, right = _numbers("force", self.force, 1), _numbers("right", self.right, 1)
        n, m = len(force), len(right)
        mass = _numbers("mass", self.mass, 2)
        rows = _numbers("rows", np.zeros((0, n)) if m == 0 and not np.size(self.rows) else self.rows, 2)
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
            raise ShapeError(f"constraints of {sizes} rows do not make up {m} rows")
        names = tuple(self.names) or tuple(f"row {i}" for i in range(m))
        velocities = tuple(self.velocities) or tuple(f"v{i}" for i in range(n))
        if len(names) != m or len(velocities) != n:
            raise ShapeError(f"{m} rows and {n} velocities need as many names, got {names} and {velocities}")
        lengths = np.array(np.broadcast_to(reals("lengths", self.lengths), (len(sizes),)))
        if not (lengths >= 0.0).all():
            raise ShapeError(f"lengths must not be negative, got {lengths.tolist()}")
        parts = {"mass": mass, "force": force, "rows": rows, "right": right, "_lengths": lengths}
        for key, array in parts.items():
            array.setflags(write=False)
            object.__setattr__(self, key, array)
        for key, names_ in (("sizes", sizes), ("names", names), ("velocities", velocities)):
            object.__setattr__(self, key, names_)
        least = float(np.linalg.eigvalsh(self.scaled_mass)[0]) if n else 0.0
        if least < -INDEFINITE * max(n, 1):
            raise ModelError(
                "the mass matrix must be positive semidefinite; measured by its diagonal it has an eigenvalue "
                f"{least:.3g}"
            )

    @property
    def velocity_scale(self) -> Array:
        """Diagonal of S, shape (n,): 1/√M_jj, and where M_jj is nothing what makes the column of Θ̃ at most one long."""
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
        """Diagonal of F, shape (m,): one over the longest row of the constraint; one where all of them vanish."""
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


def _numbers(name: str, value: ArrayLike, dimensions: int) -> Array:
    try:
        array = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be numbers, got {value!r}") from error
    if array.ndim != dimensions:
        raise ShapeError(f"{name} must have {dimensions} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i[0]) for i in np.nonzero(~np.isfinite(array)))
        raise ShapeError(f"{name} must be finite, but {name}{list(place)} is {array[place]}")
    return array
