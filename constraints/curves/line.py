"""A straight path through two points, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import point_coordinates
from .curve import Curve, PointLike, axis_names
from .path_geometry import normal_frame, reference_axis


@dataclass(frozen=True, eq=False)
class Line(Curve):
    """f(x) = Nᵀ(x − a), N orthonormal and orthogonal to the direction b − a; use :func:`line` to make one.

    Attributes:
        axis: signed number of the reference axis of the normals.
    """

    name: str
    dimension: int
    axis: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distances of a position x to n − 1 planes through the line, shape (n − 1,), at any time t."""
        n = self.dimension
        start, end = self.parameters.symbols[:n], self.parameters.symbols[n:]
        return normal_frame((end - start) / ca.norm_2(end - start), self.axis).T @ (x - start)

    def landmarks(self, t: ca.SX) -> ca.SX:
        """Start and end, shape (n, 2)."""
        n = self.dimension
        return ca.horzcat(self.parameters.symbols[:n], self.parameters.symbols[n:])

    def remaining(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Distance from the foot of the perpendicular from x to the second point [m]."""
        n = self.dimension
        return ca.norm_2(self.parameters.symbols[n:] - self.parameters.symbols[:n]) - self.progress(x)

    def travelled(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, None]:
        """Distance along the line from the first point [m]."""
        return self.progress(x), None

    def stations(self, t: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Start and end."""
        ends = self.landmarks(t)
        return ca.vertcat(0, ca.norm_2(ends[:, 1] - ends[:, 0])), ends

    def progress(self, x: ca.SX) -> ca.SX:
        """Distance of the foot of the perpendicular from x along the line, from the first point [m]."""
        n = self.dimension
        start, end = self.parameters.symbols[:n], self.parameters.symbols[n:]
        return ca.dot(x - start, end - start) / ca.norm_2(end - start)


def line(start: PointLike, end: PointLike, *, name: str = "line") -> Line:
    """The straight line through two points, followed from the first to the second and beyond.

    Its parameters are ``name.start_x``, …, ``name.end_x``, …

    Args:
        start: a, shape (n,) [m].
        end: b, shape (n,) [m], another point.
        name: prefix of its parameters.

    Raises:
        ModelError: if the points coincide, are not finite, or differ in dimension.
    """
    first, last = point_coordinates(f"start of {name!r}", start), point_coordinates(f"end of {name!r}", end)
    if len(first) != len(last):
        raise ModelError(f"{name!r}: the start has {len(first)} coordinates, the end {len(last)}")
    if first == last:
        raise ModelError(f"{name!r}: start and end coincide at {first}")
    direction = np.subtract(last, first)
    names = axis_names(len(first))
    values = {f"start_{a}": x for a, x in zip(names, first, strict=True)}
    values |= {f"end_{a}": x for a, x in zip(names, last, strict=True)}
    axis = reference_axis(name, direction[None, :] / np.linalg.norm(direction))
    return Line(name, len(first), axis, Parameters.declare(values, name))
