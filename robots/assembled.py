"""What the search for an assembly finds, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import NotConvergedError

Array = NDArray[np.float64]


class AssemblyError(NotConvergedError):
    """Natural constraints that cannot be satisfied from a guess.

    Attributes:
        nearest: coordinates, shape (nq,), or velocities, shape (nv,), that miss them by the least that was found.
        misses: Euclidean length of what each constraint is missed by there, by its name: metres between points.
    """

    def __init__(self, message: str, nearest: Array, misses: Mapping[str, float]) -> None:
        """Attach what was found.

        Args:
            message: what is missed, and by how much.
            nearest: coordinates or velocities.
            misses: by constraint.
        """
        super().__init__(message)
        self.nearest = nearest
        self.misses = dict(misses)


def misses_of(owners: Sequence[str], residual: Array) -> dict[str, float]:
    """Euclidean length of the rows of each constraint.

    Args:
        owners: name of the constraint that each row belongs to.
        residual: one number per row.
    """
    misses: dict[str, float] = {}
    for owner, value in zip(owners, residual, strict=True):
        misses[owner] = float(np.hypot(misses.get(owner, 0.0), value))
    return misses


@dataclass(frozen=True, eq=False)
class Assembly:
    """A place at which the holonomic natural constraints φ(q, t) = 0 hold.

    Attributes:
        q: coordinates, shape (nq,), read-only.
        residual: φ there, shape (m,), read-only.
        rows: name of each row of φ.
        singular_values: of φ_q N with all velocities free, largest first, shape (min(m, nv),), read-only.
        rank: how many of them are above the rank tolerance.
        degrees_of_freedom: nv − rank, how many velocities the constraints leave here. Constraints of order 1 leave
            fewer, and do not restrict places.
        remaining: the same count with the fixed coordinates held. One more than expected means a fold: the fixed
            coordinates are at the end of their range, where two assemblies meet.
        redundant: rows whose gradients depend on those of the rows before them; m − rank of them.
        singular: whether the rank is higher at assembled places nearby: a branching, where the mechanism may go on in
            more than one way. If it is not, redundant rows are redundant all around, and can be left out with
            :func:`~erugin.robots.without_rows`.
        starts: 1 if Newton's method led here from the guess itself; more if it led nowhere and the search began anew
            elsewhere, so that this may be another branch than the guess's.
        iterations: steps of Newton's method, over all starts.
    """

    q: Array
    residual: Array = field(repr=False)
    rows: tuple[str, ...] = field(repr=False)
    singular_values: Array = field(repr=False)
    rank: int
    degrees_of_freedom: int
    remaining: int
    redundant: tuple[str, ...]
    singular: bool
    starts: int
    iterations: int

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.q, self.residual, self.singular_values):
            array.setflags(write=False)
