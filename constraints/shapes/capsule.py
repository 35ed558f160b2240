"""A capsule: everything near a straight segment."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import point_coordinates, positive
from ..curves.curve import Curve, PointLike, axis_names


@dataclass(frozen=True, eq=False)
class Capsule(Curve):
    """The signed distance f(x) = |x − a − s (b − a)| − r, 0 ≤ s ≤ 1 nearest to x; use :func:`capsule` to make one."""

    name: str
    dimension: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the boundary, shape (1,), of a position x at any time t.

        Its gradient has length 1 and is Lipschitz continuous off the segment; on it, it is finite.
        """
        start, end, radius = self._parts()
        along = end - start
        # The floor lets both ends coincide, as in a ball.
        s = ca.dot(x - start, along) / (ca.sumsqr(along) + 1e-300)
        s = ca.if_else(s < 0, 0, ca.if_else(s > 1, 1, s))
        # The tiny constant keeps the gradient finite on the segment; on the boundary it is below rounding.
        return ca.sqrt(ca.sumsqr(x - start - s * along) + (1e-9 * radius) ** 2) - radius

    @property
    def smoothness(self) -> float:
        """1: the curvature jumps where the ends, of curvature 1/r, meet the straight sides."""
        return 1.0

    def reference(self, t: ca.SX) -> ca.SX:
        """The middle of the segment, shape (n,) [m]."""
        start, end, _ = self._parts()
        return (start + end) / 2

    def extent(self, t: ca.SX) -> ca.SX:
        """Half the length of the segment and the radius [m]."""
        start, end, radius = self._parts()
        return ca.sqrt(ca.sumsqr(end - start) + 1e-300) / 2 + radius

    def _parts(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        n, symbols = self.dimension, self.parameters.symbols
        return symbols[:n], symbols[n : 2 * n], symbols[2 * n]


def capsule(start: PointLike, end: PointLike, radius: float, *, name: str = "capsule") -> Capsule:
    """Everything nearer than a radius to the segment between two points, in any dimension.

    Its parameters are ``name.start_x``, …, ``name.end_x``, …, ``name.radius``.

    Args:
        start: a, shape (n,) [m].
        end: b, shape (n,) [m], another point.
        radius: r [m], greater than zero.
        name: prefix of its parameters.

    Raises:
        ModelError: if the points coincide, are not finite or differ in dimension, or the radius is not positive.
    """
    first, last = point_coordinates(f"start of {name!r}", start), point_coordinates(f"end of {name!r}", end)
    if len(first) != len(last):
        raise ModelError(f"{name!r}: the start has {len(first)} coordinates, the end {len(last)}")
    if first == last:
        raise ModelError(f"{name!r}: start and end coincide at {first}; use circle() for a disc or a ball")
    axes = axis_names(len(first))
    values = {f"start_{a}": x for a, x in zip(axes, first, strict=True)}
    values |= {f"end_{a}": x for a, x in zip(axes, last, strict=True)}
    values["radius"] = positive(f"radius of {name!r}", radius)
    return Capsule(name, len(first), Parameters.declare(values, name, ranges={"radius": Range.POSITIVE}))
