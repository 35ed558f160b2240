"""A tube: everything near a curved path."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..curves.curve import Curve
from ..curves.spline import Spline

Array = NDArray[np.float64]

SAMPLES_PER_PIECE = 100


@dataclass(frozen=True, eq=False)
class Tube(Curve):
    """f(x) = √(|φ(x)|² + b²) − r, with b the distance beyond the ends along the path; use :func:`tube` to make one.

    Attributes:
        path: the centre line, with its functions φ.
        middle: centre of the ball that contains the path, shape (n,) [m].
        reach: radius of that ball [m].
    """

    name: str
    dimension: int
    path: Spline
    middle: tuple[float, ...]
    reach: float
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distance to the boundary, shape (1,), of a position x at any time t.

        Its gradient has length 1 and is Lipschitz continuous near the path; it jumps where two parts of the path are
        equally near, and is finite on the path itself.
        """
        s, radius = self.path.progress(x), self.parameters.symbols
        before, after = self._ends()
        over = s - self.path.length
        beyond = ca.if_else(s < 0, -before * s, ca.if_else(over > 0, after * over, 0))
        # The tiny constant keeps the gradient finite on the path; on the boundary it is below rounding.
        square = ca.sumsqr(self.path.functions(x, t)) + beyond**2
        return ca.sqrt(square + (1e-9 * radius) ** 2) - radius

    @property
    def smoothness(self) -> float:
        """1: the curvature jumps where the ends, of curvature 1/r, meet the sides."""
        return 1.0

    def reference(self, t: ca.SX) -> ca.SX:
        """Centre of the ball, shape (n,) [m]."""
        return ca.SX(ca.DM(list(self.middle)))

    def extent(self, t: ca.SX) -> ca.SX:
        """Radius of the ball plus that of the tube [m]."""
        return self.reach + self.parameters.symbols

    def _ends(self) -> tuple[float, float]:
        """Distance per unit of the parameter on the straight continuations of the path before and after its ends."""
        length = self.path.length
        points = self.path.at([-1.0, 0.0, length, length + 1.0])
        return float(np.linalg.norm(points[1] - points[0])), float(np.linalg.norm(points[3] - points[2]))


def tube(path: Spline, radius: float, *, name: str = "tube") -> Tube:
    """Everything nearer than a radius to a path from its first to its last point, with round ends.

    Its only parameter is ``name.radius``, which in a study must also stay below the path's least radius of curvature.

    Args:
        path: the centre line, in any dimension.
        radius: r [m], greater than zero and below the least radius of curvature.
        name: prefix of its parameter.

    Raises:
        ModelError: if the path is not a spline, or the radius is not positive or too large for its bends.
    """
    if not isinstance(path, Spline):
        raise ModelError(f"{name!r} needs a path made by spline(), got {path!r}; about a segment use capsule()")
    size = positive(f"radius of {name!r}", radius)
    s: Array = np.linspace(0.0, path.length, SAMPLES_PER_PIECE * (len(path.breaks) - 1) + 1)
    bends = _curvature(path, s)
    sharpest = int(np.argmax(bends))
    if size * bends[sharpest] >= 1.0:
        raise ModelError(
            f"radius of {name!r} must be below the least radius of curvature of {path.name!r}, "
            f"{1 / bends[sharpest]:.4g} m at s = {s[sharpest]:.4g} m, because its boundary would have a crease; got "
            f"{radius!r}"
        )
    points = path.at(s)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    # Between two samples the distance of the path from the chord is at most half of its length there.
    reach = float(np.linalg.norm(points - middle, axis=1).max() + np.linalg.norm(np.diff(points, axis=0), axis=1).max())
    own = Parameters.declare({"radius": size}, name, ranges={"radius": Range.POSITIVE})
    return Tube(name, path.dimension, path, tuple(float(value) for value in middle), reach, own)


def _curvature(path: Spline, s: Array) -> Array:
    """Curvature of the path at parameters s, shape of s [1/m]."""
    from scipy.interpolate import PPoly  # a tenth of a second to import

    curve = PPoly(path.pieces, path.breaks)
    first, second = curve(s, 1), curve(s, 2)
    square = (first**2).sum(axis=1)
    across = second - first * ((first * second).sum(axis=1) / square)[:, None]
    curvature: Array = np.linalg.norm(across, axis=1) / square
    return curvature
