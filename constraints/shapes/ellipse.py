"""Ellipses and superellipses; in space ellipsoids and superellipsoids, in any position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, point_coordinates, positive
from ..curves.curve import Curve, PointLike, axis_names
from .pose import Orientation, center_of, pose_values, to_local
from .r_functions import column_maximum

LARGEST_EXPONENT = 20.0


@dataclass(frozen=True, eq=False)
class Ellipse(Curve):
    """f(x) = (k − 1)/|∇k|, k = (Σ |y_i/a_i|^p)^(1/p), y = Rᵀ(x − c); use :func:`ellipse` to make one.

    Because k is convex and k = 1 on the boundary, f never exceeds the distance: a margin in f is at least that margin
    in metres. On the axes it is the distance; far away from an ellipsoid it is at least 2r/(1 + r²) of it, with r the
    ratio of the largest to the least semi-axis. Inside, f falls monotonically to the centre.

    Attributes:
        exponent: p.
    """

    name: str
    dimension: int
    exponent: float
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Function f, shape (1,), of a position x at any time t.

        Analytic for even exponents, otherwise :attr:`smoothness` times differentiable where a y_i vanishes. Twice
        differentiable inside, where it is blended to a value at the centre.
        """
        p, axes = self.exponent, self._semi_axes()
        # The tiny constant keeps all derivatives finite where a coordinate vanishes.
        squares = (to_local(self.parameters, x) / axes) ** 2 + 1e-18
        # Divided by the largest, so that no power of a small or large number is taken.
        largest = ca.sqrt(column_maximum(squares))
        k = largest * ca.power(ca.sum1(ca.power(squares / largest**2, p / 2)), 1 / p)
        slope = ca.sum1(ca.power(squares / k**2, p - 1) / axes**2)  # |∇k|²
        # |∇k| depends on the direction only and is not defined at the centre, where a lower bound of it takes over.
        blend = ca.if_else(k < 1, 1 - k, 0) ** 3
        return (k - 1) / ca.sqrt(slope * (1 - blend) + blend / self.extent(t) ** 2)

    @property
    def smoothness(self) -> float:
        """Infinite for even exponents p; else the largest whole number below p, because |y|^p is no smoother."""
        return math.inf if self.exponent % 2 == 0 else math.ceil(self.exponent) - 1.0

    def reference(self, t: ca.SX) -> ca.SX:
        """The centre, shape (n,) [m]."""
        return center_of(self.parameters, self.dimension)

    def extent(self, t: ca.SX) -> ca.SX:
        """Largest semi-axis times n^(1/2 − 1/p) [m]."""
        return column_maximum(self._semi_axes()) * float(self.dimension ** (0.5 - 1 / self.exponent))

    def _semi_axes(self) -> ca.SX:
        count = len(self.parameters)
        return ca.vertcat(*(self.parameters.symbols[i] for i in range(count - self.dimension, count)))


def ellipse(
    center: PointLike, semi_axes: Sequence[float], *, orientation: Orientation | None = None, name: str = "ellipse"
) -> Ellipse:
    """An ellipse; in n dimensions an ellipsoid.

    Its parameters are ``name.x``, …, the angles (``name.angle``; ``name.yaw``, ``name.pitch``, ``name.roll``),
    ``name.semi_x``, ``name.semi_y``, …

    Args:
        center: c, shape (n,) [m].
        semi_axes: a, shape (n,) [m], each greater than zero.
        orientation: orientation of the axes [rad]: an angle in the plane, (yaw, pitch, roll) in space, or a rotation
            matrix.
        name: prefix of its parameters.

    Raises:
        ModelError: if a semi-axis is not positive, a number is not finite, or sizes do not fit.
    """
    return superellipse(center, semi_axes, 2.0, orientation=orientation, name=name)


def superellipse(
    center: PointLike,
    semi_axes: Sequence[float],
    exponent: float,
    *,
    orientation: Orientation | None = None,
    name: str = "superellipse",
) -> Ellipse:
    """A rectangle with round corners, Σ |y_i/a_i|^p = 1; in n dimensions a superellipsoid.

    Its parameters are those of :func:`ellipse`. The exponent is a number and no parameter, because it decides how often
    the boundary is differentiable: p = 2 is an ellipse, with p = 4 the corners are round, p = 10 is close to a box.

    Args:
        center: c, shape (n,) [m].
        semi_axes: a, shape (n,) [m], each greater than zero.
        exponent: p, from 2 to 20; not necessarily whole.
        orientation: orientation of the axes [rad]: an angle in the plane, (yaw, pitch, roll) in space, or a rotation
            matrix.
        name: prefix of its parameters.

    Raises:
        ModelError: if the exponent is out of range, a semi-axis is not positive, a number is not finite, or sizes do
            not fit.
    """
    values = pose_values(name, center, orientation)
    sizes = point_coordinates(f"semi_axes of {name!r}", semi_axes)
    n = len(point_coordinates(f"center of {name!r}", center))
    if len(sizes) != n:
        raise ModelError(f"{name!r}: the centre has {n} coordinates, semi_axes= has {len(sizes)}")
    power = finite(f"exponent of {name!r}", exponent)
    if not 2.0 <= power <= LARGEST_EXPONENT:
        raise ModelError(
            f"exponent of {name!r} must lie between 2 and {LARGEST_EXPONENT:g}, got {exponent!r}: below 2 the boundary "
            "has infinite curvature; for sharper corners use box(..., rounding=...)"
        )
    pairs = zip(axis_names(n), sizes, strict=True)
    axes = {f"semi_{axis}": positive(f"semi_axes of {name!r}", value) for axis, value in pairs}
    ranges = dict.fromkeys(axes, Range.POSITIVE)
    return Ellipse(name, n, power, Parameters.declare(values | axes, name, ranges=ranges))
