"""Kinematics and equations of motion of bodies in a plane, without differentiation of the kinetic energy.

A point is reached by displacements r_j, each of which turns with one bar or with none. Its velocity per unit of the
rate φ̇_j of a bar's absolute angle is i r_j, a quarter turn, and its acceleration at a = 0 is the sum of −r_j φ̇_j².
Sliders make displacements longer.

All that the equations of two bars have of each other are the products r·s and r × s of one displacement r of the first
bar and the first moment s = Σ m_b s_b of all that hangs at its end. The square of a displacement that turns as a whole
is a number: there the derivatives of sin² + cos², which no expression knows to be one, never appear.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ..dynamics import Dynamics
from ..tree.body_points import PointRates


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
        return self.vector if self.bar is None else rotate_vector(q[self.bar], self.vector)


Path = tuple[Displacement, ...]
"""The displacements from the origin to a place, no two of which turn with the same bar."""


def extend_path(path: Path, bar: int | None, vector: ca.SX) -> Path:
    """The path with one displacement more, added to its last one if that turns with the same bar.

    Args:
        path: from the origin.
        bar: place in q of the bar's angle; None for no bar.
        vector: in the bar's axes, shape (2,) [m].
    """
    if path and path[-1].bar == bar:
        return (*path[:-1], Displacement(bar, path[-1].vector + vector))
    return (*path, Displacement(bar, vector))


def rotate_vector(angle: ca.SX, vector: ca.SX) -> ca.SX:
    """A vector turned counter-clockwise, shape (2,).

    Args:
        angle: [rad].
        vector: shape (2,).
    """
    if angle.is_zero():
        return vector
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def path_end(path: Path, q: ca.SX) -> ca.SX:
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
class RotatedVector:
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

    def dot(self, other: RotatedVector) -> ca.SX:
        """Inner product.

        Args:
            other: in the same axes.
        """
        x, y = self.vector, other.vector
        quarters = (other.quarters - self.quarters) % 4
        product = x[0] * y[0] + x[1] * y[1] if quarters % 2 == 0 else x[0] * y[1] - x[1] * y[0]
        return self.factor * other.factor * (-product if quarters in (1, 2) else product)


@dataclass(frozen=True, eq=False)
class DisplacementMotion:
    """What the motion of a displacement consists of.

    Attributes:
        columns: its velocity per unit of each coordinate's rate, by the coordinate's place in q.
        bias_acceleration: terms of its acceleration at a = 0.
    """

    columns: Mapping[int, RotatedVector]
    bias_acceleration: Sequence[RotatedVector]

    @classmethod
    def of(cls, step: Displacement, q: ca.SX, v: ca.SX, *, in_world: bool = True) -> DisplacementMotion:
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
        columns = {j: RotatedVector(0, ca.SX(1), seen(ca.densify(slopes[:, j]))) for j in sliders}
        if step.bar is None:
            return cls(columns, [])
        whole, spin = seen(step.vector), v[step.bar]
        bias_acceleration = [RotatedVector(2, spin**2, whole)]
        bias_acceleration += [RotatedVector(1, 2 * spin * v[j], column.vector) for j, column in columns.items()]
        return cls({step.bar: RotatedVector(1, ca.SX(1), whole), **columns}, bias_acceleration)


@dataclass(frozen=True, eq=False)
class PlanarBody:
    """A rigid body.

    Attributes:
        mass: [kg].
        inertia: about its centre of mass [kg m²].
        center: the path to its centre of mass; its last displacement turns as the body does.
    """

    mass: ca.SX
    inertia: ca.SX
    center: Path


def planar_dynamics(
    bodies: Sequence[PlanarBody], coordinates: Coordinates, gravity: ca.SX, elastic: ca.SX | float = 0.0
) -> Dynamics:
    """M, h and the energies of bodies that move in a vertical plane.

    Args:
        bodies: at least one.
        coordinates: angles of bars [rad] and distances of sliders [m]; v = q̇.
        gravity: g along −y [m/s²].
        elastic: potential energy besides gravity's [J].
    """
    q, v, n = coordinates.q, coordinates.v, coordinates.nv
    M, h, height = ca.SX(ca.DM.zeros(n, n)), ca.gradient(ca.SX(elastic), q), ca.SX(0)
    mutual: dict[tuple[Displacement, int | None], ca.SX] = {}
    totals: dict[int | None, ca.SX] = {}
    for body in bodies:
        turning = body.center[-1].bar
        if turning is not None:
            M[turning, turning] += body.inertia
        for step in body.center:
            totals[step.bar] = totals.get(step.bar, ca.SX.zeros(2)) + body.mass * step.vector
            _add_own(M, h, body.mass, step.bar, DisplacementMotion.of(step, q, v, in_world=False))
        for before, after in itertools.combinations(body.center, 2):
            key = (before, after.bar)
            mutual[key] = mutual.get(key, ca.SX.zeros(2)) + body.mass * after.vector
    for (before, bar), moment in mutual.items():
        _add_mutual(M, h, DisplacementMotion.of(before, q, v), DisplacementMotion.of(Displacement(bar, moment), q, v))
    for bar, moment in totals.items():
        total = Displacement(bar, moment)
        height += total.in_world(q)[1]
        for i, column in DisplacementMotion.of(total, q, v).columns.items():
            h[i] += gravity * column.value[1]
    M = ca.tril2symm(ca.tril(M))
    kinetic = ca.dot(v, M @ v) / 2
    return Dynamics.given(ca.densify(M), ca.densify(h), kinetic, gravity * height + elastic)


def _add_own(M: ca.SX, h: ca.SX, mass: ca.SX, bar: int | None, parts: DisplacementMotion) -> None:
    """What a body feels of the motion of one displacement along that same motion."""
    for i, column in parts.columns.items():
        for j, other in parts.columns.items():
            M[i, j] += mass * column.dot(other)
        for term in parts.bias_acceleration:
            # What pulls towards the pin has no moment about it.
            if i != bar or term.quarters != 2:
                h[i] += mass * column.dot(term)


def _add_mutual(M: ca.SX, h: ca.SX, before: DisplacementMotion, after: DisplacementMotion) -> None:
    """What the motions of two displacements feel of each other, the second with masses in it; M below its diagonal."""
    for i, column in before.columns.items():
        for j, other in after.columns.items():
            M[max(i, j), min(i, j)] += column.dot(other)
        for term in after.bias_acceleration:
            h[i] += column.dot(term)
    for i, column in after.columns.items():
        for term in before.bias_acceleration:
            h[i] += term.dot(column)


class PlanarPoint:
    """Where a path ends, and how that moves.

    Attributes:
        position: in the world's axes, shape (2,) [m].
    """

    def __init__(self, path: Path, coordinates: Coordinates) -> None:
        """Place the point.

        Args:
            path: from the origin.
            coordinates: that its displacements turn and slide by.
        """
        self._coordinates = coordinates
        self._path = path
        self.position = path_end(path, coordinates.q)

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """Shape (2,) [m/s]."""
        return self._along(self._coordinates.v)

    @functools.cached_property
    def acceleration(self) -> ca.SX:
        """Shape (2,) [m/s²]."""
        bias = ca.SX.zeros(2)
        for parts in self._parts:
            for term in parts.bias_acceleration:
                bias = bias + term.value
        return self._along(self._coordinates.a) + bias

    @functools.cached_property
    def _parts(self) -> list[DisplacementMotion]:
        return [DisplacementMotion.of(step, self._coordinates.q, self._coordinates.v) for step in self._path]

    def _along(self, rates: ca.SX) -> ca.SX:
        moved = ca.SX.zeros(2)
        for parts in self._parts:
            for i, column in parts.columns.items():
                moved = moved + column.value * rates[i]
        return moved


class PlanarPoints:
    """The points of planar bodies that are known."""

    def __init__(self, coordinates: Coordinates) -> None:
        """Know none yet.

        Args:
            coordinates: of the robot.
        """
        self._known = PointRates()
        self._coordinates = coordinates

    def attach(self, path: Path) -> ca.SX:
        """Where a path ends, known from then on, shape (2,) [m].

        Args:
            path: from the origin.
        """
        place = PlanarPoint(path, self._coordinates)
        self._known.add(place.position, lambda: place.velocity, lambda: place.acceleration)
        return place.position

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        return self._known.rate(element)
