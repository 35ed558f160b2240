"""A path given by a parametrisation, moving or not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite, require_memory, whole
from .curve import Curve
from .path_geometry import foot_of_perpendicular, normal_frame, reference_axis

Path = Callable[[ca.SX, ca.SX], ca.SX]
"""Position c(s, t), shape (n,) [m], as a function of the parameter s and the time t."""

CHECKED = 400
"""Number of points at which a path is checked when it is built."""

LARGEST_TURN = 1.0
"""Largest turn between neighbouring samples [rad], so that they are nearer to each other than the radius of curvature.
"""

QUADRATURE = 6
"""Points of Gauss's formula for the length between two samples."""

CLOSED = 1e-9
"""Share of its length within which a path's ends coincide."""

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Parametric(Curve):
    """f(x, t) = N(s)ᵀ(x − c(s, t)) at the foot s of the perpendicular from x; use :func:`parametric` to make one.

    Attributes:
        path: c as a function of s and t.
        samples: parameters at which the search for the foot starts.
        axis: reference axis of the normals.
    """

    name: str
    dimension: int
    path: Path = field(repr=False)
    samples: tuple[float, ...] = field(repr=False)
    axis: int
    parameters: Parameters = field(repr=False)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Signed distances along n − 1 normals, shape (n − 1,)."""
        _, (position, first, _) = self._foot(x, t)
        return normal_frame(first / ca.norm_2(first), self.axis).T @ (x - position)

    def jacobian(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """∂f/∂x; in the plane the normal itself, because the foot moves along the curve only."""
        if self.dimension > 2:
            return super().jacobian(x, t)
        _, (_, first, _) = self._foot(x, t)
        return normal_frame(first / ca.norm_2(first), self.axis).T

    def landmarks(self, t: ca.SX) -> ca.SX:
        """Positions of the samples, shape (n, k)."""
        return ca.horzcat(*(self.path(ca.SX(value), t) for value in self.samples))

    @property
    def smoothness(self) -> float:
        """3: c is required to be three times differentiable."""
        return 3.0

    def progress(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Parameter s of the foot of the perpendicular from x at time t."""
        return self._foot(x, t)[0]

    def travelled(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX | None] | None:
        """Arc from the first sample to the foot, and the length of a lap if the last sample is the first one again.

        None for a path that moves or has parameters.
        """
        if self._arcs is None:
            return None
        arc, arcs = self._arcs
        foot, before, since = self.progress(x, t), ca.SX(0), ca.SX(self.samples[0])
        for sample, length in zip(self.samples[1:-1], arcs[:-1].tolist(), strict=True):
            passed = foot >= sample
            before += ca.if_else(passed, length, 0.0)
            since = ca.if_else(passed, sample, since)
        ends = self._points
        total = float(arcs.sum())
        closed = bool(np.linalg.norm(ends[:, -1] - ends[:, 0]) < CLOSED * total)
        return before + cast(ca.SX, arc(since, foot)), ca.SX(total) if closed else None

    def stations(self, t: ca.SX) -> tuple[ca.SX, ca.SX] | None:
        """The samples; None for a path that moves or has parameters."""
        if self._arcs is None:
            return None
        return ca.SX(ca.DM(np.concatenate([[0.0], np.cumsum(self._arcs[1])]))), ca.SX(ca.DM(self._points))

    @functools.cached_property
    def _arcs(self) -> tuple[ca.Function, Array] | None:
        """Length between two parameters, by Gauss's formula, and those between the samples; None if not constant."""
        s, end, t = ca.SX.sym("s"), ca.SX.sym("end"), ca.SX.sym("t")
        position = ca.densify(self.path(s, t))
        if any(symbol.element_hash() != s.element_hash() for symbol in ca.symvar(position)):
            return None
        speed = ca.Function("speed", [s], [ca.norm_2(ca.jacobian(position, s))])
        places, weights = np.polynomial.legendre.leggauss(QUADRATURE)
        half = (end - s) / 2
        speeds = [cast(ca.SX, speed(s + half * (1 + float(place)))) for place in places]
        arc = ca.Function("arc", [s, end], [half * ca.dot(ca.vertcat(*speeds), ca.SX(ca.DM(weights)))])
        each = arc(ca.DM(self.samples[:-1]).T, ca.DM(self.samples[1:]).T)
        return arc, np.asarray(each, dtype=np.float64).ravel()

    @functools.cached_property
    def _points(self) -> Array:
        """Positions of the samples of a path that does not move, shape (n, k)."""
        t = ca.SX.sym("t")
        return np.asarray(ca.Function("points", [t], [self.landmarks(t)])(0.0), dtype=np.float64)

    def _foot(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, tuple[ca.SX, ca.SX, ca.SX]]:
        s = ca.SX.sym("s")
        position = ca.densify(self.path(s, t))
        first = ca.jacobian(position, s)
        derivatives = ca.vertcat(position, first, ca.jacobian(first, s))
        n = self.dimension

        def at(value: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
            found = ca.densify(ca.substitute(derivatives, s, value))
            return found[:n], found[n : 2 * n], found[2 * n :]

        return foot_of_perpendicular(
            x, [(value, ca.substitute(position, s, ca.SX(value))) for value in self.samples], at
        )


def parametric(
    path: Path,
    start: float,
    end: float,
    *,
    samples: int = 60,
    parameters: Parameters = NO_PARAMETERS,
    name: str = "parametric",
) -> Parametric:
    """The path x = c(s, t), followed in the direction of growing s.

    The search for the foot of the perpendicular starts at the nearest of ``samples`` points between start and end and
    may end beyond them: a closed path given over one period is followed for ever. The foot is unique nearer to the path
    than its radius of curvature.

    Args:
        path: c as a function of the parameter and the time, returning shape (n,); three times differentiable.
        start: parameter of the first sample.
        end: parameter of the last sample, greater than ``start``.
        samples: number of samples, at least 2; the path may turn by at most one radian between neighbours.
        parameters: symbols that the path uses.
        name: name in messages.

    Raises:
        ModelError: if the path is not a column of expressions, stands still (c′ = 0) or is not finite somewhere at
            t = 0, or uses undeclared symbols; if the range is empty, or there are too few samples for the bends.
    """
    first, last = finite(f"start of {name!r}", start), finite(f"end of {name!r}", end)
    if not first < last:
        raise ModelError(f"{name!r}: end must be greater than start, got start={start!r} and end={end!r}")
    samples = whole(f"samples of {name!r}", samples, 2)
    s, t = ca.SX.sym("s"), ca.SX.sym("t")
    if not callable(path):
        raise ModelError(f"{name!r}: the path must be a function of s and t, got {path!r}")
    position = path(s, t)
    if not isinstance(position, ca.SX) or position.size2() != 1 or position.numel() < 2:
        raise ModelError(
            f"{name!r}: the path must return a column of at least 2 CasADi SX expressions, got {position!r}"
        )
    allowed = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(s, t, parameters.symbols))}
    foreign = sorted({symbol.name() for symbol in ca.symvar(position) if symbol.element_hash() not in allowed})
    if foreign:
        raise ModelError(f"{name!r} uses {', '.join(foreign)}: declare them with parameters=")
    kernel = Kernel(
        "tangent",
        {"s": s, "t": t, "p": parameters.symbols},
        {"place": position, "tangent": ca.jacobian(position, s)},
        compiled=False,
    )
    numbers = parameters.values()
    tangents: list[Array] = []
    for value in np.linspace(first, last, CHECKED):
        where, tangent = kernel(float(value), 0.0, numbers)
        length = float(np.linalg.norm(tangent))
        if not (np.isfinite(where).all() and np.isfinite(length) and length > 0.0):
            raise ModelError(
                f"{name!r}: c and c′ must be finite and c′ not zero, got c = {where} and c′ = {tangent.ravel()} at "
                f"s = {value:g}"
            )
        tangents.append(tangent.ravel() / length)
    directions = np.array(tangents)
    axis = reference_axis(name, directions)
    # Each sample is a constant in the expressions of the path and a branch of the search.
    with require_memory(1e3 * samples, f"{samples:,} samples", "take fewer; a path needs one per radian that it turns"):
        sampled = np.linspace(first, last, samples)
    _require_gentle_turns(name, directions, first, last, sampled)
    return Parametric(name, position.numel(), path, tuple(sampled.tolist()), axis, parameters)


def _require_gentle_turns(name: str, directions: Array, first: float, last: float, sampled: Array) -> None:
    """Raise ModelError if the path turns so far between neighbouring samples that the search may find a wrong foot.

    Args:
        name: name of the path.
        directions: unit tangents at evenly spaced parameters, shape (CHECKED, n).
        first: first of these parameters.
        last: last of these parameters.
        sampled: parameters of the samples.
    """
    chords = np.linalg.norm(np.diff(directions, axis=0), axis=1)
    turned = np.concatenate([[0.0], np.cumsum(2.0 * np.arcsin(np.minimum(chords / 2.0, 1.0)))])
    turns = np.diff(np.interp(sampled, np.linspace(first, last, CHECKED), turned))
    i = int(np.argmax(turns))
    if turns[i] > LARGEST_TURN:
        needed = int(np.ceil((len(sampled) - 1) * turns[i] / LARGEST_TURN)) + 1
        raise ModelError(
            f"{name!r} turns by {turns[i]:.3g} rad between the samples at s = {sampled[i]:g} and {sampled[i + 1]:g}, "
            f"so that a wrong foot of the perpendicular could be found: at most {LARGEST_TURN:g} rad is allowed. Use "
            f"at least samples={needed}, or round the corner if there is one"
        )
