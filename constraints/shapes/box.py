"""A box with sharp or round edges, in any position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.arrays import not_negative, place, positive
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ..curves.circle import Place, axis_names
from ..curves.curve import Curve
from .greatest import greatest
from .pose import Orientation, center_of, pose_values, to_local


@dataclass(frozen=True, eq=False)
class Box(Curve):
    """The signed distance f(x) = |max(d, 0)| + min(max_i d_i, 0) − r; use :func:`box` to make one.

    Here d = |Rᵀ(x − c)| − s/2 + r, with the edge lengths s and the rounding r.
    """

    name: str
    dimension: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the boundary, shape (1,), of a place x at any time t.

        Outside its gradient has length 1 and is Lipschitz continuous, except at the edges themselves if r = 0: there
        automatic differentiation returns a normal of one of the faces, or a vector between them. Inside, the gradient
        jumps where two faces are equally near.
        """
        sizes, rounding = self._sizes(), self._rounding()
        d = ca.fabs(to_local(self.parameters, x)) - sizes / 2 + rounding
        outside = ca.if_else(d > 0, d, 0)
        square = ca.sumsqr(outside)
        deepest = greatest(d)
        distance = ca.sqrt(ca.if_else(square > 0, square, 1))
        return ca.if_else(square > 0, distance, ca.if_else(deepest > 0, 0, deepest)) - rounding

    def reference(self, t: ca.SX) -> ca.SX:
        """The centre, shape (n,) [m]."""
        return center_of(self.parameters, self.dimension)

    def extent(self, t: ca.SX) -> ca.SX:
        """Half the diagonal, less what the rounding takes off it [m]."""
        # The floor keeps a rate of change finite where the box is a ball.
        return ca.sqrt(ca.sumsqr(self._sizes() / 2 - self._rounding()) + 1e-300) + self._rounding()

    def _sizes(self) -> ca.SX:
        count = len(self.parameters)
        return ca.vertcat(*(self.parameters.symbols[i] for i in range(count - 1 - self.dimension, count - 1)))

    def _rounding(self) -> ca.SX:
        return self.parameters.symbols[len(self.parameters) - 1]


def box(
    center: Place,
    sizes: Sequence[float],
    *,
    rounding: float = 0.0,
    orientation: Orientation | None = None,
    name: str = "box",
) -> Box:
    """A rectangle; in n dimensions a box.

    With sharp edges the level lines outside are smooth all the same, but the boundary has corners, where the normal
    jumps; a rounding makes it smooth. Its parameters are ``name.x``, …, the angles (``name.angle``; ``name.yaw``,
    ``name.pitch``, ``name.roll``), ``name.size_x``, ``name.size_y``, … and ``name.rounding``, which in a study must
    stay below half of every size too.

    Args:
        center: c, shape (n,) [m].
        sizes: edge lengths s, shape (n,) [m], each greater than zero.
        rounding: radius r of the edges [m], at most half of the least size; sharp if not given.
        orientation: of the edges [rad]: an angle in the plane, (yaw, pitch, roll) in space, or a rotation matrix.
        name: prefix of its parameters.

    Raises:
        ModelError: for a size that is not positive, a rounding that does not fit, numbers that are not finite, or
            numbers of coordinates that differ.
    """
    values = pose_values(name, center, orientation)
    lengths = place(f"sizes of {name!r}", sizes)
    n = len(place(f"center of {name!r}", center))
    if len(lengths) != n:
        raise ModelError(f"{name!r}: the centre has {n} coordinates, sizes= has {len(lengths)}")
    pairs = zip(axis_names(n), lengths, strict=True)
    edges = {f"size_{axis}": positive(f"sizes of {name!r}", value) for axis, value in pairs}
    radius = not_negative(f"rounding of {name!r}", rounding)
    if radius > min(lengths) / 2:
        raise ModelError(
            f"rounding of {name!r} must be at most half of its least size, {min(lengths) / 2:g} m, got {rounding!r}"
        )
    ranges = dict.fromkeys(edges, Range.POSITIVE) | {"rounding": Range.NOT_NEGATIVE}
    return Box(name, n, Parameters.declare(values | edges | {"rounding": radius}, name, ranges=ranges))
