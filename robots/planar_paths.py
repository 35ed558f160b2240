"""Ways from the origin to places in a plane, by displacements each of which turns with one bar, or with none.

A place is where the displacements r_j lead to. Its velocity per unit of the rate φ̇_j of a bar's absolute angle is
i r_j, a quarter turn, and its acceleration at a = 0 is the sum of −r_j φ̇_j². Sliders make displacements longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class Displacement:
    """A vector that turns with one bar.

    Attributes:
        bar: place in q of the bar's angle; None for one that does not turn.
        vector: in the bar's axes, shape (2,) [m]; it may depend on the coordinates of sliders.
    """

    bar: int | None
    vector: ca.SX

    def in_world(self, q: ca.SX) -> ca.SX:
        """The vector in the world's axes, shape (2,) [m].

        Args:
            q: coordinates, shape (n,).
        """
        return self.vector if self.bar is None else turned(q[self.bar], self.vector)


Path = tuple[Displacement, ...]
"""The displacements from the origin to a place, no two of which turn with the same bar."""


def extended(path: Path, bar: int | None, vector: ca.SX) -> Path:
    """The path with one displacement more, added to its last one if that turns with the same bar.

    Args:
        path: from the origin.
        bar: place in q of the bar's angle; None for no bar.
        vector: in the bar's axes, shape (2,) [m].
    """
    if path and path[-1].bar == bar:
        return (*path[:-1], Displacement(bar, path[-1].vector + vector))
    return (*path, Displacement(bar, vector))


def turned(angle: ca.SX, vector: ca.SX) -> ca.SX:
    """A vector turned counter-clockwise, shape (2,).

    Args:
        angle: [rad].
        vector: shape (2,).
    """
    if angle.is_zero():
        return vector
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def position(path: Path, q: ca.SX) -> ca.SX:
    """Where a path ends, shape (2,) [m].

    Args:
        path: from the origin.
        q: coordinates, shape (n,).
    """
    place = ca.SX.zeros(2)
    for step in path:
        place = place + step.in_world(q)
    return place


@dataclass(frozen=True, eq=False)
class Term:
    """A vector times a number, turned by right angles: products of the same two vectors are then the same expression.

    Attributes:
        quarters: by how many right angles it is turned.
        factor: the number.
        vector: shape (2,).
    """

    quarters: int
    factor: ca.SX
    vector: ca.SX

    @property
    def value(self) -> ca.SX:
        """What all this makes, shape (2,)."""
        x, y = ca.vertsplit(self.vector)
        quarter = ((x, y), (-y, x), (-x, -y), (y, -x))[self.quarters]
        return self.factor * ca.vertcat(*quarter)

    def dot(self, other: Term) -> ca.SX:
        """Inner product.

        Args:
            other: in the same axes.
        """
        x, y = self.vector, other.vector
        quarters = (other.quarters - self.quarters) % 4
        product = x[0] * y[0] + x[1] * y[1] if quarters % 2 == 0 else x[0] * y[1] - x[1] * y[0]
        return self.factor * other.factor * (-product if quarters in (1, 2) else product)


@dataclass(frozen=True, eq=False)
class Parts:
    """What the motion of a displacement consists of.

    Attributes:
        columns: its velocity per unit of each coordinate's rate, by the coordinate's place in q.
        drift: terms of its acceleration at a = 0.
    """

    columns: Mapping[int, Term]
    drift: Sequence[Term]

    @classmethod
    def of(cls, step: Displacement, q: ca.SX, v: ca.SX, *, in_world: bool = True) -> Parts:
        """In the world's axes, or in the bar's own.

        Args:
            step: the displacement.
            q: coordinates, shape (n,).
            v: their rates, shape (n,).
            in_world: which axes.
        """

        def seen(vector: ca.SX) -> ca.SX:
            return Displacement(step.bar, vector).in_world(q) if in_world else vector

        slopes = ca.jacobian(step.vector, q)
        sliders = sorted({int(j) for j in slopes.sparsity().get_triplet()[1]})
        columns = {j: Term(0, ca.SX(1), seen(ca.densify(slopes[:, j]))) for j in sliders}
        if step.bar is None:
            return cls(columns, [])
        whole, spin = seen(step.vector), v[step.bar]
        drift = [Term(2, spin**2, whole)]
        drift += [Term(1, 2 * spin * v[j], column.vector) for j, column in columns.items()]
        return cls({step.bar: Term(1, ca.SX(1), whole), **columns}, drift)
