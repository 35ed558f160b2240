"""A half-space: in the plane, everything behind a straight wall."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import point_coordinates
from ..curves.curve import Curve, PointLike, axis_names


@dataclass(frozen=True, eq=False)
class HalfSpace(Curve):
    """f(x) = n·(x − a)/|n|, the signed distance; use :func:`half_space` to make one."""

    name: str
    dimension: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the plane, shape (1,); analytic everywhere."""
        n = self.dimension
        normal = self.parameters.symbols[n:]
        return ca.dot(normal, x - self.parameters.symbols[:n]) / ca.norm_2(normal)

    def reference(self, t: ca.SX) -> ca.SX:
        """The point a on the boundary, shape (n,) [m]; :meth:`extent` is None, because no ball contains it."""
        return self.parameters.symbols[: self.dimension]


def half_space(point: PointLike, normal: PointLike, *, name: str = "half_space") -> HalfSpace:
    """The solid half of the space behind a plane; in two dimensions, the half-plane behind a line.

    Its parameters are ``name.x``, ``name.y``, …, ``name.normal_x``, ``name.normal_y``, …

    Args:
        point: a on the boundary, shape (n,) [m].
        normal: n, pointing out of the solid into the free half, shape (n,), of any length but zero.
        name: prefix of its parameters.

    Raises:
        ModelError: if the normal is zero, a number is not finite, or sizes do not fit.
    """
    origin, outward = point_coordinates(f"point of {name!r}", point), point_coordinates(f"normal of {name!r}", normal)
    if len(origin) != len(outward):
        raise ModelError(f"{name!r}: the point has {len(origin)} coordinates, the normal {len(outward)}")
    if not any(outward):
        raise ModelError(f"normal of {name!r} must not be zero, got {outward}")
    axes = axis_names(len(origin))
    values = dict(zip(axes, origin, strict=True))
    values |= {f"normal_{axis}": value for axis, value in zip(axes, outward, strict=True)}
    return HalfSpace(name, len(origin), Parameters.declare(values, name))
