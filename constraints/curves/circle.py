"""A circle in the plane, a sphere in space: as a path or as the boundary of a drifting disc."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import point_coordinates, positive
from .curve import Curve, PointLike, axis_names

STATIONS = 25
"""Points of a polygon that stands for a circle."""


@dataclass(frozen=True, eq=False)
class Circle(Curve):
    """f(x, t) = |x − c − u t| − r; use :func:`circle` to make one."""

    name: str
    dimension: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the circle, positive outside, shape (1,)."""
        # The tiny constant keeps the gradient finite at the centre; on the circle it is below rounding.
        offset = x - self.center(t)
        radius = self.radius
        return ca.sqrt(ca.sumsqr(offset) + (1e-9 * radius) ** 2) - radius

    def center(self, t: ca.SX) -> ca.SX:
        """Centre c + u t at time t, shape (n,) [m]."""
        symbols = self.parameters.symbols
        n = self.dimension
        return symbols[:n] + symbols[n + 1 : 2 * n + 1] * t

    def reference(self, t: ca.SX) -> ca.SX:
        """The centre, shape (n,) [m]."""
        return self.center(t)

    def extent(self, t: ca.SX) -> ca.SX:
        """The radius [m]."""
        return self.radius

    def front_speed(self, t: ca.SX) -> ca.SX:
        """|u| [m/s]."""
        return ca.norm_2(self.parameters.symbols[self.dimension + 1 :])

    def travelled(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX | None] | None:
        """Arc from the point on the right of the centre, counter-clockwise, and the circumference; None in space."""
        if self.dimension != 2:
            return None
        offset = x - self.center(t)
        return self.radius * ca.atan2(offset[1], offset[0]), 2 * ca.pi * self.radius

    def stations(self, t: ca.SX) -> tuple[ca.SX, ca.SX] | None:
        """Points of the circle, once round from the right of the centre; None in space."""
        if self.dimension != 2:
            return None
        angles = ca.SX(ca.DM(np.linspace(0.0, 2 * np.pi, STATIONS)))
        around = ca.horzcat(ca.cos(angles), ca.sin(angles)).T
        return self.radius * angles, self.radius * around + ca.repmat(self.center(t), 1, STATIONS)

    @property
    def radius(self) -> ca.SX:
        """Radius r [m]."""
        return self.parameters.symbols[self.dimension]


def circle(center: PointLike, radius: float, *, velocity: PointLike | None = None, name: str = "circle") -> Circle:
    """A circle (in n dimensions: a sphere) that drifts at a constant velocity.

    As a path in the plane it is followed counter-clockwise. Its parameters are ``name.x``, ``name.y``, …,
    ``name.radius``, ``name.vx``, ``name.vy``, …

    Args:
        center: centre c at t = 0, shape (n,) [m].
        radius: r [m], greater than zero.
        velocity: drift u, shape (n,) [m/s]; at rest if not given.
        name: prefix of its parameters.

    Raises:
        ModelError: for a radius that is not positive, numbers that are not finite, or sizes that do not fit.
    """
    middle = point_coordinates(f"center of {name!r}", center)
    n = len(middle)
    drift = (0.0,) * n if velocity is None else point_coordinates(f"velocity of {name!r}", velocity)
    if len(drift) != n:
        raise ModelError(f"{name!r}: the centre has {n} coordinates, the velocity {len(drift)}")
    size = positive(f"radius of {name!r}", radius)
    axes = axis_names(n)
    values = dict(zip(axes, middle, strict=True))
    values["radius"] = size
    values |= {f"v{axis}": value for axis, value in zip(axes, drift, strict=True)}
    return Circle(name, n, Parameters.declare(values, name, ranges={"radius": Range.POSITIVE}))
