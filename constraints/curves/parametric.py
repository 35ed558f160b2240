"""A path given by any parametrisation, moving or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite, require_memory, whole
from .curve import Curve
from .path_geometry import foot_of_perpendicular, normal_frame, reference_axis

Path = Callable[[ca.SX, ca.SX], ca.SX]
"""Parameter s and time t → place c(s, t), shape (n,) [m]."""

CHECKED = 400
"""Places at which a path is looked at when it is made."""

LARGEST_TURN = 1.0
"""Of the path between neighbouring samples [rad]: they are then nearer to each other than the radius of curvature."""

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Parametric(Curve):
    """f(x, t) = N(s)ᵀ(x − c(s, t)) at the foot s of the perpendicular from x; use :func:`parametric` to make one.

    Attributes:
        path: c as a function of s and t.
        samples: parameters at which the search for the foot begins.
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
        _, (place, first, _) = self._foot(x, t)
        return normal_frame(first / ca.norm_2(first), self.axis).T @ (x - place)

    def jacobian(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """∂f/∂x; in the plane the normal itself, because the foot moves along the curve only."""
        if self.dimension > 2:
            return super().jacobian(x, t)
        _, (_, first, _) = self._foot(x, t)
        return normal_frame(first / ca.norm_2(first), self.axis).T

    def landmarks(self, t: ca.SX) -> ca.SX:
        """Its samples, shape (n, k)."""
        return ca.horzcat(*(self.path(ca.SX(value), t) for value in self.samples))

    @property
    def smoothness(self) -> float:
        """Three, which c is required to be."""
        return 3.0

    def progress(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Parameter s of the foot of the perpendicular from x at time t."""
        return self._foot(x, t)[0]

    def _foot(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, tuple[ca.SX, ca.SX, ca.SX]]:
        s = ca.SX.sym("s")
        place = ca.densify(self.path(s, t))
        first = ca.jacobian(place, s)
        derivatives = ca.vertcat(place, first, ca.jacobian(first, s))
        n = self.dimension

        def at(value: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
            found = ca.densify(ca.substitute(derivatives, s, value))
            return found[:n], found[n : 2 * n], found[2 * n :]

        return foot_of_perpendicular(x, [(value, ca.substitute(place, s, ca.SX(value))) for value in self.samples], at)


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

    The foot of the perpendicular is looked for from the nearest of ``samples`` places between start and end, and may
    lie beyond them: a closed path given over one period is followed for ever. Nearer to the path than its radius of
    curvature the foot is unique.

    Args:
        path: c as a function of the parameter and the time, returning shape (n,); three times differentiable.
        start: parameter of the first sample.
        end: parameter of the last, greater than ``start``.
        samples: how many; between neighbours the path may turn by one radian at most.
        parameters: symbols that the path uses.
        name: shown in messages.

    Raises:
        ModelError: for a path that is no column of expressions, stands still (c′ = 0) or is not finite somewhere at
            t = 0, foreign symbols, a range that is empty, or too few samples for its bends.
    """
    first, last = finite(f"start of {name!r}", start), finite(f"end of {name!r}", end)
    if not first < last:
        raise ModelError(f"{name!r}: the parameter must grow, but starts at {start!r} and ends at {end!r}")
    samples = whole(f"samples of {name!r}", samples, 2)
    s, t = ca.SX.sym("s"), ca.SX.sym("t")
    if not callable(path):
        raise ModelError(f"{name!r}: the path must be a function of s and t, got {path!r}")
    place = path(s, t)
    if not isinstance(place, ca.SX) or place.size2() != 1 or place.numel() < 2:
        raise ModelError(f"{name!r}: the path must return a column of at least 2 CasADi SX expressions, got {place!r}")
    allowed = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(s, t, parameters.symbols))}
    foreign = sorted({symbol.name() for symbol in ca.symvar(place) if symbol.element_hash() not in allowed})
    if foreign:
        raise ModelError(f"{name!r} uses {', '.join(foreign)}: declare them with parameters=")
    kernel = Kernel(
        "tangent",
        {"s": s, "t": t, "p": parameters.symbols},
        {"place": place, "tangent": ca.jacobian(place, s)},
        compiled=False,
    )
    numbers = parameters.values()
    tangents: list[Array] = []
    for value in np.linspace(first, last, CHECKED):
        where, tangent = kernel(float(value), 0.0, numbers)
        length = float(np.linalg.norm(tangent))
        if not (np.isfinite(where).all() and np.isfinite(length) and length > 0.0):
            raise ModelError(f"{name!r}: at s = {value:g} the path is at {where} with c′ = {tangent.ravel()}")
        tangents.append(tangent.ravel() / length)
    directions = np.array(tangents)
    axis = reference_axis(name, directions)
    # Each is a value in the expressions of the path, and a branch of the search.
    with require_memory(1e3 * samples, f"{samples:,} samples", "take fewer; a path needs one per radian of its bends"):
        places = np.linspace(first, last, samples)
    _require_gentle_turns(name, directions, first, last, places)
    return Parametric(name, place.numel(), path, tuple(places.tolist()), axis, parameters)


def _require_gentle_turns(name: str, directions: Array, first: float, last: float, places: Array) -> None:
    """Raise ModelError where the path turns so far between neighbouring samples that the search may find another foot.

    Args:
        name: of the path.
        directions: unit tangents at evenly spaced parameters, shape (CHECKED, n).
        first: parameter of the first of them.
        last: of the last.
        places: parameters of the samples.
    """
    chords = np.linalg.norm(np.diff(directions, axis=0), axis=1)
    turned = np.concatenate([[0.0], np.cumsum(2.0 * np.arcsin(np.minimum(chords / 2.0, 1.0)))])
    turns = np.diff(np.interp(places, np.linspace(first, last, CHECKED), turned))
    i = int(np.argmax(turns))
    if turns[i] > LARGEST_TURN:
        needed = int(np.ceil((len(places) - 1) * turns[i] / LARGEST_TURN)) + 1
        raise ModelError(
            f"{name!r} turns by {turns[i]:.3g} rad between the samples at s = {places[i]:g} and {places[i + 1]:g}, so "
            f"that a wrong foot of the perpendicular could be found: at most {LARGEST_TURN:g} rad is allowed. Give at "
            f"least samples={needed}, or round the corner if there is one"
        )
