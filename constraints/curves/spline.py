"""A smooth path through given points, in any dimension."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError, NotFiniteInputError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import reals
from .curve import Curve
from .path_geometry import foot_of_perpendicular, normal_frame, reference_axis

Array = NDArray[np.float64]
DEGREE = 5
SAMPLES_PER_PIECE, STATIONS = 12, 4


@dataclass(frozen=True, eq=False)
class Spline(Curve):
    """f(x) = N(s)ᵀ(x − c(s)) at the foot s of the perpendicular from x; use :func:`spline` to make one.

    Attributes:
        breaks: arc parameter at the points, shape (k,) [m].
        pieces: coefficients of the local powers, highest first, shape (6, k − 1, n).
        axis: reference axis of the normals.
    """

    name: str
    dimension: int
    breaks: Array = field(repr=False)
    pieces: Array = field(repr=False)
    axis: int
    parameters: Parameters = NO_PARAMETERS

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distances along n − 1 normals, shape (n − 1,)."""
        _, (position, first, _) = self._foot(x)
        frame = normal_frame(first / ca.norm_2(first), self.axis)
        return frame.T @ (x - position)

    def jacobian(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """∂f/∂x; in the plane the normal itself, because the foot moves along the curve only."""
        if self.dimension > 2:
            return super().jacobian(x, t)
        _, (_, first, _) = self._foot(x)
        return normal_frame(first / ca.norm_2(first), self.axis).T

    def stations(self, t: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Points that it goes through and three between each two."""
        between = np.arange(STATIONS) / STATIONS
        s = np.append((self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * between).ravel(), self.breaks[-1])
        return ca.SX(ca.DM(s - self.breaks[0])), ca.SX(ca.DM(self.at(s).T))

    def landmarks(self, t: ca.SX) -> ca.SX:
        """Points that it goes through and the midpoints between them, shape (n, 2k − 1)."""
        middles = (self.breaks[1:] + self.breaks[:-1]) / 2
        return ca.SX(ca.DM(self.at(np.sort(np.concatenate([self.breaks, middles]))).T))

    def progress(self, x: ca.SX) -> ca.SX:
        """Parameter s of the foot of the perpendicular from x: 0 at the first point, ``length`` at the last [m]."""
        return self._foot(x)[0]

    def remaining(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Parameter from the foot of the perpendicular from x to the last point [m]."""
        return self.length - self.progress(x)

    def travelled(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, None]:
        """Parameter of the foot of the perpendicular from x, which is a length to within the bends [m]."""
        return self.progress(x), None

    def at(self, s: ArrayLike) -> Array:
        """Points of the path at parameters s [m], shape of s plus (n,); straight beyond both ends."""
        from scipy.interpolate import PPoly  # a tenth of a second to import

        values = reals("s", s)
        if not np.isfinite(values).all():
            raise NotFiniteInputError(f"s must be finite, got {values.tolist()}")
        inside = np.clip(values, self.breaks[0], self.breaks[-1])
        curve = PPoly(self.pieces, self.breaks)
        points: Array = curve(inside) + curve.derivative()(inside) * (values - inside)[..., None]
        return points

    @property
    def smoothness(self) -> float:
        """3: degree 5 between the ends, and straight beyond them, where c″ and c‴ vanish."""
        return 3.0

    @property
    def length(self) -> float:
        """Range of the parameter from the first to the last point [m]."""
        return float(self.breaks[-1] - self.breaks[0])

    def _foot(self, x: ca.SX) -> tuple[ca.SX, tuple[ca.SX, ca.SX, ca.SX]]:
        share = np.arange(0.0, 1.0, 1.0 / SAMPLES_PER_PIECE)
        inner: Array = (self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * share).ravel()
        samples = [(float(s), ca.SX(ca.DM(self.at(s)))) for s in np.append(inner, self.breaks[-1])]
        return foot_of_perpendicular(x, samples, self._evaluate)

    def _evaluate(self, s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        low, high = float(self.breaks[0]), float(self.breaks[-1])
        inside = ca.fmin(ca.fmax(s, low), high)
        coefficients = [ca.SX(ca.DM(row)) for row in self.pieces[:, 0, :]]
        origin = ca.SX(low)
        for i in range(1, self.pieces.shape[1]):
            later = inside >= float(self.breaks[i])
            # Summing the changes takes half the operations of choosing each row, at the cost of the last bit at most.
            change = self.pieces[:, i, :] - self.pieces[:, i - 1, :]
            coefficients = [
                old + ca.if_else(later, ca.DM(row), 0.0) for row, old in zip(change, coefficients, strict=True)
            ]
            origin = origin + ca.if_else(later, float(self.breaks[i] - self.breaks[i - 1]), 0.0)
        local = inside - origin
        position, first, second = coefficients[0], ca.SX.zeros(self.dimension), ca.SX.zeros(self.dimension)
        for row in coefficients[1:]:
            second = second * local + 2 * first
            first = first * local + position
            position = position * local + row
        return position + first * (s - inside), first, second


def spline(points: Sequence[Sequence[float]] | Array, *, name: str = "spline") -> Spline:
    """A path through points, followed from the first to the last and straight on beyond both ends.

    An interpolating spline of degree 5 over the chord length: three times continuously differentiable everywhere, so
    that the accelerations that follow it are smooth.

    Args:
        points: shape (k, n) [m], k ≥ 3, neighbours different.
        name: name in messages.

    Raises:
        ModelError: if there are too few points, or some are not finite or repeated.
    """
    try:
        array = reals("points", points)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name!r}: points must be rows of numbers, all of one length, got {points!r}") from error
    if array.ndim != 2 or array.shape[0] < 3 or array.shape[1] < 2:
        raise ModelError(f"{name!r} needs at least 3 points of at least 2 coordinates, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{name!r}: every point must be finite, got {array[~np.isfinite(array).all(axis=1)][0]}")
    with np.errstate(all="ignore"):
        chords = np.linalg.norm(np.diff(array, axis=0), axis=1)
        # The coefficients of the pieces contain these powers of the lengths.
        powers = np.array([chords.max() ** DEGREE, chords.min() ** -DEGREE])
    if not (chords > 0.0).all():
        raise ModelError(f"{name!r}: points {int(np.argmin(chords))} and the next coincide")
    if not np.isfinite(powers).all():
        raise ModelError(
            f"{name!r}: neighbouring points are {chords.min():.3g} to {chords.max():.3g} m apart, which is too near or "
            "too far for floating-point numbers; choose another unit of length"
        )
    breaks = np.concatenate([[0.0], np.cumsum(chords)])
    curve = _interpolate(breaks, array)
    # Taylor coefficients at the left end of each piece, highest power first.
    pieces = np.stack([curve(breaks[:-1], k) / math.factorial(k) for k in range(DEGREE, -1, -1)])
    samples: Array = breaks[-1] * np.arange(40 * len(breaks) + 1) / (40 * len(breaks))
    tangents = curve(samples, 1)
    axis = reference_axis(name, tangents / np.linalg.norm(tangents, axis=1)[:, None])
    return Spline(name, array.shape[1], breaks, pieces, axis)


def _interpolate(breaks: Array, points: Array) -> Callable[[Array, int], Array]:
    """Return the spline through points, straight at both ends, as a function of parameter and order of derivative."""
    from scipy.interpolate import make_interp_spline  # a tenth of a second to import

    zero = np.zeros(points.shape[1])
    straight = [(2, zero), (3, zero)]
    # The stubs of SciPy know only the named boundary conditions.
    curve: Any = make_interp_spline(breaks, points, k=DEGREE, bc_type=cast(Any, (straight, straight)))

    def evaluate(s: Array, order: int) -> Array:
        return np.asarray(curve(s, nu=order), dtype=np.float64)

    return evaluate
