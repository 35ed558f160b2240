"""A box with sharp, round or smooth edges, in any position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import not_negative, point_coordinates, positive
from ..curves.curve import Curve, PointLike, axis_names
from .pose import Orientation, center_of, pose_values, to_local
from .r_functions import column_maximum

CORNER = 3
"""Exponent of smooth edges: the least whole one with continuous curvature, which gives the gentlest bend."""


@dataclass(frozen=True, eq=False)
class Box(Curve):
    """The signed distance f(x) = |max(d, 0)| + min(max_i d_i, 0) − r; use :func:`box` to make one.

    Here d = |Rᵀ(x − c)| − s/2 + r, with the edge lengths s and the rounding r. With smooth edges
    f(x) = (k − r)/|∇k|, k = (Σ max(d_i, 0)³)^(1/3), where any d_i > 0. Because k is convex f never exceeds the
    distance; |∇f| = 1 on the boundary, and beside the faces f is the distance.

    Attributes:
        smooth: True if the curvature of the edges starts at zero.
    """

    name: str
    dimension: int
    parameters: Parameters = field(repr=False)
    smooth: bool = False

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the boundary, shape (1,), of a position x at any time t; a lower bound with smooth edges.

        Outside its gradient has length 1 and is Lipschitz continuous, except at the edges themselves if r = 0: there
        automatic differentiation returns a normal of one of the faces, or a vector between them. With smooth edges f
        is C² outside, and on the boundary and inside of it up to the straight core. Inside, the gradient jumps where
        two faces are equally near.
        """
        sizes, rounding = self._sizes(), self._rounding()
        d = ca.fabs(to_local(self.parameters, x)) - sizes / 2 + rounding
        outside = ca.if_else(d > 0, d, 0)
        if self.smooth:
            return self._smooth(d, outside, rounding)
        square = ca.sumsqr(outside)
        deepest = column_maximum(d)
        distance = ca.sqrt(ca.if_else(square > 0, square, 1))
        return ca.if_else(square > 0, distance, ca.if_else(deepest > 0, 0, deepest)) - rounding

    def _smooth(self, d: ca.SX, outside: ca.SX, rounding: ca.SX) -> ca.SX:
        some = ca.sum1(outside) > 0
        # Divided by the largest, so that no power of a small or large number is taken.
        largest = ca.if_else(some, column_maximum(outside), 1)
        total = ca.if_else(some, ca.sum1((outside / largest) ** CORNER), 1)
        k = largest * ca.power(total, 1 / CORNER)
        slope = ca.if_else(some, ca.sum1((outside / k) ** (2 * CORNER - 2)), 1)  # |∇k|²
        # |∇k| is not defined at the corners of the core, where the distance to them takes over.
        blend = ca.if_else(k < rounding, 1 - k / rounding, 0) ** 3
        return ca.if_else(some, (k - rounding) / ca.sqrt(slope * (1 - blend) + blend), column_maximum(d) - rounding)

    @property
    def smoothness(self) -> float:
        """2 with smooth edges; 1 with arcs, for a nominal rounding above zero; 0 with sharp ones."""
        if self.smooth:
            return 2.0
        return 1.0 if self.parameters.nominal.get(f"{self.name}.rounding", 0.0) > 0.0 else 0.0

    def reference(self, t: ca.SX) -> ca.SX:
        """The centre, shape (n,) [m]."""
        return center_of(self.parameters, self.dimension)

    def extent(self, t: ca.SX) -> ca.SX:
        """Half the diagonal, less what the rounding cuts off [m]."""
        # The floor keeps a rate of change finite where the box is a ball.
        beyond = self.dimension ** (0.5 - 1 / CORNER) if self.smooth else 1.0
        return ca.sqrt(ca.sumsqr(self._sizes() / 2 - self._rounding()) + 1e-300) + beyond * self._rounding()

    def _sizes(self) -> ca.SX:
        count = len(self.parameters)
        return ca.vertcat(*(self.parameters.symbols[i] for i in range(count - 1 - self.dimension, count - 1)))

    def _rounding(self) -> ca.SX:
        return self.parameters.symbols[len(self.parameters) - 1]


def box(
    center: PointLike,
    sizes: Sequence[float],
    *,
    rounding: float = 0.0,
    corner: Literal["arc", "smooth"] = "arc",
    orientation: Orientation | None = None,
    name: str = "box",
) -> Box:
    """A rectangle; in n dimensions a box.

    With sharp edges the level lines outside still have a continuous normal, but the boundary has corners, where the
    normal jumps. Rounded by arcs the boundary is C¹: its normal is Lipschitz continuous, and where an arc starts the
    curvature jumps from 0 to 1/r, and with it the acceleration of a point that moves along it and the torques of a
    robot that guides the point. With ``corner="smooth"`` it is C²: the edges are Σ d_i³ = r³, their curvature starts at
    zero and rises to 1.78/r in the middle of an edge, so that a larger rounding is needed for the same bend.

    Its parameters are ``name.x``, …, the angles (``name.angle``; ``name.yaw``, ``name.pitch``, ``name.roll``),
    ``name.size_x``, ``name.size_y``, … and ``name.rounding``, which in a study must also stay below half of every size.

    Args:
        center: c, shape (n,) [m].
        sizes: edge lengths s, shape (n,) [m], each greater than zero.
        rounding: radius r of the edges, or with smooth ones their length along the faces [m], at most half of the
            least size; sharp if not given.
        corner: ``"arc"`` for edges of constant curvature, ``"smooth"`` for those of continuous curvature.
        orientation: orientation of the edges [rad]: an angle in the plane, (yaw, pitch, roll) in space, or a rotation
            matrix.
        name: prefix of its parameters.

    Raises:
        ModelError: if a size is not positive, the rounding does not fit, the corner is unknown, a number is not finite,
            or numbers of coordinates differ.
    """
    values = pose_values(name, center, orientation)
    lengths = point_coordinates(f"sizes of {name!r}", sizes)
    n = len(point_coordinates(f"center of {name!r}", center))
    if len(lengths) != n:
        raise ModelError(f"{name!r}: the centre has {n} coordinates, sizes= has {len(lengths)}")
    pairs = zip(axis_names(n), lengths, strict=True)
    edges = {f"size_{axis}": positive(f"sizes of {name!r}", value) for axis, value in pairs}
    radius = not_negative(f"rounding of {name!r}", rounding)
    if radius > min(lengths) / 2:
        raise ModelError(
            f"rounding of {name!r} must be at most half of its least size, {min(lengths) / 2:g} m, got {rounding!r}"
        )
    if corner not in ("arc", "smooth"):
        raise ModelError(f"corner of {name!r} must be 'arc' or 'smooth', got {corner!r}")
    smooth = corner == "smooth"
    if smooth and not radius > 0.0:
        raise ModelError(
            f"smooth corners of {name!r} require rounding= above zero, their length along the faces, got {rounding!r}"
        )
    ranges = dict.fromkeys(edges, Range.POSITIVE)
    ranges["rounding"] = Range.POSITIVE if smooth else Range.NOT_NEGATIVE
    return Box(name, n, Parameters.declare(values | edges | {"rounding": radius}, name, ranges=ranges), smooth)
