"""Kinematics and equations of motion of bodies in a plane, without differentiation of the kinetic energy.

The path to a point consists of displacements r_j, each of which rotates with one bar or is fixed. The velocity of the
point per unit of the rate φ̇_j of a bar's absolute angle is i r_j, a quarter turn, and its acceleration at a = 0 is the
sum of −r_j φ̇_j². Sliders make displacements longer.

The coupling between two bars consists of the products r·s and r × s of one displacement r of the first bar and the
first moment s = Σ m_b s_b of all bodies beyond its end. The square of a displacement that rotates as a whole is a
constant, so that derivatives of sin² + cos², which would not cancel symbolically, never appear.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ..dynamics import Dynamics
from ..tree.tree import PointRates


@dataclass(frozen=True, eq=False)
class Displacement:
    """A vector that rotates with one bar.

    Attributes:
        bar: index in q of the bar's angle; None for a fixed direction.
        vector: in the bar's axes, shape (2,) [m]; it may depend on the coordinates of sliders.
    """

    bar: int | None
    vector: ca.SX

    def in_world(self, q: ca.SX) -> ca.SX:
        """Return the vector in the world's axes, shape (2,) [m].

        Args:
            q: coordinates, shape (n,).
        """
        return self.vector if self.bar is None else rotate_vector(q[self.bar], self.vector)


Path = tuple[Displacement, ...]
"""The displacements from the origin to a point, no two of which rotate with the same bar."""


def extend_path(path: Path, bar: int | None, vector: ca.SX) -> Path:
    """Return the path with one more displacement, added to its last one if that rotates with the same bar.

    Args:
        path: path from the origin.
        bar: index in q of the bar's angle; None for no bar.
        vector: in the bar's axes, shape (2,) [m].
    """
    if path and path[-1].bar == bar:
        return (*path[:-1], Displacement(bar, path[-1].vector + vector))
    return (*path, Displacement(bar, vector))


def rotate_vector(angle: ca.SX, vector: ca.SX) -> ca.SX:
    """Rotate a vector counter-clockwise, shape (2,).

    Args:
        angle: angle of rotation [rad].
        vector: vector, shape (2,).
    """
    if angle.is_zero():
        return vector
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def path_end(path: Path, q: ca.SX) -> ca.SX:
    """Return the end of a path, shape (2,) [m].

    Args:
        path: path from the origin.
        q: coordinates, shape (n,).
    """
    end = ca.SX.zeros(2)
    for step in path:
        end = end + step.in_world(q)
    return end


@dataclass(frozen=True, eq=False)
class RotatedVector:
    """A scaled vector rotated by right angles, so that products of the same two vectors are the same expression.

    Attributes:
        quarters: number of right angles of the rotation.
        factor: scalar factor.
        vector: vector before the rotation, shape (2,).
    """

    quarters: int
    factor: ca.SX
    vector: ca.SX

    @property
    def value(self) -> ca.SX:
        """The scaled and rotated vector, shape (2,)."""
        x, y = ca.vertsplit(self.vector)
        quarter = ((x, y), (-y, x), (-x, -y), (y, -x))[self.quarters]
        return self.factor * ca.vertcat(*quarter)

    def dot(self, other: RotatedVector) -> ca.SX:
        """Return the inner product.

        Args:
            other: another vector in the same axes.
        """
        x, y = self.vector, other.vector
        quarters = (other.quarters - self.quarters) % 4
        product = x[0] * y[0] + x[1] * y[1] if quarters % 2 == 0 else x[0] * y[1] - x[1] * y[0]
        return self.factor * other.factor * (-product if quarters in (1, 2) else product)


@dataclass(frozen=True, eq=False)
class DisplacementMotion:
    """Velocity and acceleration terms of a displacement.

    Attributes:
        columns: velocity per unit of each coordinate's rate, by the index of the coordinate in q.
        bias_acceleration: terms of the acceleration at a = 0.
    """

    columns: Mapping[int, RotatedVector]
    bias_acceleration: Sequence[RotatedVector]

    @classmethod
    def of(cls, step: Displacement, q: ca.SX, v: ca.SX, *, in_world: bool = True) -> DisplacementMotion:
        """Build the terms of a displacement, in the axes of the world or of the bar.

        Args:
            step: the displacement.
            q: coordinates, shape (n,).
            v: their rates, shape (n,).
            in_world: True for the axes of the world, False for those of the bar.
        """

        def in_axes(vector: ca.SX) -> ca.SX:
            return Displacement(step.bar, vector).in_world(q) if in_world else vector

        slopes = ca.jacobian(step.vector, q)
        sliders = sorted({int(j) for j in slopes.sparsity().get_triplet()[1]})
        columns = {j: RotatedVector(0, ca.SX(1), in_axes(ca.densify(slopes[:, j]))) for j in sliders}
        if step.bar is None:
            return cls(columns, [])
        whole, spin = in_axes(step.vector), v[step.bar]
        bias_acceleration = [RotatedVector(2, spin**2, whole)]
        bias_acceleration += [RotatedVector(1, 2 * spin * v[j], column.vector) for j, column in columns.items()]
        return cls({step.bar: RotatedVector(1, ca.SX(1), whole), **columns}, bias_acceleration)


@dataclass(frozen=True, eq=False)
class PlanarBody:
    """A rigid body.

    Attributes:
        mass: [kg].
        inertia: about its centre of mass [kg m²].
        center: path to its centre of mass, whose last displacement rotates with the body.
    """

    mass: ca.SX
    inertia: ca.SX
    center: Path


def planar_dynamics(
    bodies: Sequence[PlanarBody], coordinates: Coordinates, gravity: ca.SX, elastic: ca.SX | float = 0.0
) -> Dynamics:
    """Derive M, h and the energies of bodies that move in a vertical plane.

    Args:
        bodies: at least one.
        coordinates: angles of bars [rad] and distances of sliders [m]; v = q̇.
        gravity: g along −y [m/s²].
        elastic: potential energy besides that of gravity [J].
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
    """Add the inertial terms of a body for one displacement with itself."""
    for i, column in parts.columns.items():
        for j, other in parts.columns.items():
            M[i, j] += mass * column.dot(other)
        for term in parts.bias_acceleration:
            # A centripetal force has no moment about the pin.
            if i != bar or term.quarters != 2:
                h[i] += mass * column.dot(term)


def _add_mutual(M: ca.SX, h: ca.SX, before: DisplacementMotion, after: DisplacementMotion) -> None:
    """Add the coupling terms of two displacements, the second of which includes masses; M below its diagonal."""
    for i, column in before.columns.items():
        for j, other in after.columns.items():
            M[max(i, j), min(i, j)] += column.dot(other)
        for term in after.bias_acceleration:
            h[i] += column.dot(term)
    for i, column in after.columns.items():
        for term in before.bias_acceleration:
            h[i] += term.dot(column)


class PlanarPoint:
    """The end of a path, with its velocity and acceleration.

    Attributes:
        position: in the world's axes, shape (2,) [m].
    """

    def __init__(self, path: Path, coordinates: Coordinates) -> None:
        """Place the point.

        Args:
            path: path from the origin.
            coordinates: coordinates of the path.
        """
        self._coordinates = coordinates
        self._path = path
        self.position = path_end(path, coordinates.q)

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """Velocity, shape (2,) [m/s]."""
        return self._along(self._coordinates.v)

    @functools.cached_property
    def acceleration(self) -> ca.SX:
        """Acceleration, shape (2,) [m/s²]."""
        bias = ca.SX.zeros(2)
        for parts in self._parts:
            for term in parts.bias_acceleration:
                bias = bias + term.value
        return self._along(self._coordinates.a) + bias

    @functools.cached_property
    def _parts(self) -> list[DisplacementMotion]:
        return [DisplacementMotion.of(step, self._coordinates.q, self._coordinates.v) for step in self._path]

    def _along(self, rates: ca.SX) -> ca.SX:
        total = ca.SX.zeros(2)
        for parts in self._parts:
            for i, column in parts.columns.items():
                total = total + column.value * rates[i]
        return total


class PlanarPoints:
    """The registered points of planar bodies."""

    def __init__(self, coordinates: Coordinates) -> None:
        """Start without points.

        Args:
            coordinates: coordinates of the robot.
        """
        self._known = PointRates()
        self._coordinates = coordinates

    def attach(self, path: Path) -> ca.SX:
        """Register the end of a path, and return its position, shape (2,) [m].

        Args:
            path: path from the origin.
        """
        point = PlanarPoint(path, self._coordinates)
        self._known.add(point.position, lambda: point.velocity, lambda: point.acceleration)
        return point.position

    def rate(self, element: ca.SX) -> ca.SX | None:
        """Return the rate of a coordinate of a registered point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        return self._known.rate(element)
