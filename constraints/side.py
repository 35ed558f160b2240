"""On which side to pass the obstacles: a stated rule, applied before the motion starts."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ..symbolic.arrays import positive, vector
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.runge_kutta import rk4_step
from .field import EruginField

LONGEST = 1_000_000


def choose_side(
    field: EruginField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> int:
    """The side, +1 or −1, on which a point that moves with the field leaves the path least.

    The rule: a point is sent along the field from ``start``, once for either side, and the side with the smaller mean
    of |φ₁| over the duration is taken, φ₁ being the path's first function; +1 if they are equal. Set the answer as the
    parameter ``field.side``.

    Args:
        field: with obstacles.
        start: place at t = 0, shape (n,) [m].
        duration: how far to look ahead [s].
        step: of the rehearsal, by RK4 [s].
        p: parameters of the field: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: if the field has no obstacles, one of them covers the start, or neither side gives finite numbers.
    """
    if not field.obstacles:
        raise ModelError(f"{field.name!r} has no obstacles, so there is no side to choose")
    n = field.dimension
    kernel, functions = _kernels(field)
    place, values = vector("start", start, n), field.parameters.values(p)
    clearances = np.atleast_1d(functions(0.0, place, values)[0])[n - 1 :]
    if clearances.min() <= 0.0:
        covering = field.obstacles[int(np.argmin(clearances))]
        raise ModelError(f"the start {place} lies inside {covering.name!r}, {abs(clearances.min()):.4g} m deep")
    count = max(1, round(positive("duration", duration) / positive("step", step)))
    if count > LONGEST:
        raise ModelError(
            f"{count} steps are too many to look ahead (at most {LONGEST}): shorten duration= or lengthen step="
        )
    departures: dict[int, float] = {}
    for side in (1, -1):
        numbers = values.copy()
        numbers[field.parameters.names.index(f"{field.name}.side")] = side
        off = np.zeros((1, count), order="F")
        results = [np.zeros((1, count), order="F"), np.zeros((n, count), order="F"), off]
        parameters = np.asfortranarray(np.tile(numbers[:, None], (1, count)))
        kernel.loop(count, 2, [np.zeros(1), place.copy(), np.full((1, count), step, order="F"), parameters], results)()
        departures[side] = float(off.mean())
    if not np.isfinite(list(departures.values())).any():
        raise ModelError(f"the field {field.name!r} is not finite on either side of the path")
    return min((1, -1), key=lambda side: departures[side] if np.isfinite(departures[side]) else np.inf)


@functools.lru_cache(maxsize=16)
def _kernels(field: EruginField) -> tuple[Kernel, Kernel]:
    """A step along the field with the distance from the path, and the field's functions."""
    x, t, h, p = ca.SX.sym("x", field.dimension), ca.SX.sym("t"), ca.SX.sym("h"), field.parameters.symbols
    w = ca.Function("w", [t, x, p], [field.velocity(x, t)], {"cse": True})
    after = rk4_step(lambda time, place: w(time, place, p), t, x, h)
    outputs = {"t": t + h, "x": after, "off": ca.fabs(field.path.functions(x, t)[0])}
    step = Kernel("rehearse", {"t": t, "x": x, "h": h, "p": p}, outputs, compiled=False)
    return step, Kernel("functions", {"t": t, "x": x, "p": p}, {"f": field.functions(x, t)}, compiled=False)
