"""A point that moves with a field, without any robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints import EruginField, require_start
from ..constraints.verification.subject import Subject
from ..symbolic.arrays import finite, positive, require_distinct_times, vector
from ..symbolic.errors import ModelError, NotFiniteError
from ..symbolic.kernel import Kernel
from ..symbolic.runge_kutta import rk4_step

Array = NDArray[np.float64]
LONGEST = 1_000_000


@dataclass(frozen=True, eq=False)
class FieldMotion:
    """Samples of ẋ = w(x, t).

    Attributes:
        t: times, shape (N,) [s].
        x: places, shape (N, n) [m].
        w: velocities, shape (N, n) [m/s].
        f: the field's functions, shape (N, k): those of the program curve, then one per obstacle [m].
    """

    t: Array
    x: Array
    w: Array
    f: Array

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    def until(self, time: float) -> FieldMotion:
        """The samples up to a time.

        Args:
            time: [s].
        """
        count = int(np.searchsorted(self.t, time, side="right"))
        return FieldMotion(self.t[:count], self.x[:count], self.w[:count], self.f[:count])


def move_along(
    field: Subject,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    t0: float = 0.0,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> FieldMotion:
    """Move a point with a field, by RK4.

    Args:
        field: the velocity.
        start: place at ``t0``, shape (n,) [m].
        duration: how long [s].
        step: of RK4 and of the samples [s]; made a little smaller if it does not divide the duration.
        t0: when it starts [s].
        p: parameters of the field: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: for a duration or a step that is not positive, more than a million steps, or a place where no
            motion along an Erugin field can begin, such as one inside an obstacle.
        ShapeError: for a place of another shape, or one that is not finite.
        NotFiniteError: if the velocity becomes NaN or infinite; the message says where.
    """
    n, first = field.dimension, finite("t0", t0)
    count = max(1, round(positive("duration", duration) / positive("step", step) + 0.5 - 1e-9))
    if count > LONGEST:
        raise ModelError(f"{count} steps are too many (at most {LONGEST}): shorten duration= or lengthen step=")
    require_distinct_times(first, float(duration), duration / count)
    place, values, h = vector("start", start, n), field.parameters.values(p), duration / count
    if isinstance(field, EruginField):
        require_start(field, place, p, t=first)
    x, t, symbols = ca.SX.sym("x", n), ca.SX.sym("t"), field.parameters.symbols
    w = ca.Function("w", [t, x, symbols], [field.velocity(x, t)], {"cse": True})

    def rate(time: ca.SX, at: ca.SX) -> ca.SX:
        return cast(ca.SX, w(time, at, symbols))

    outputs = {"t": t + h, "x": rk4_step(rate, t, x, h), "here": x, "w": rate(t, x), "f": field.functions(x, t)}
    kernel = Kernel("move_along", {"t": t, "x": x, "p": symbols}, outputs, compiled=False)
    results = [np.zeros((rows, count + 1), order="F") for rows, _ in kernel.outputs.values()]
    parameters = np.asfortranarray(np.tile(values[:, None], (1, count + 1)))
    kernel.loop(count + 1, 2, [np.array([first]), place.copy(), parameters], results)()
    times: Array = first + h * np.arange(count + 1, dtype=np.float64)
    here, velocities, functions = (result.T.copy() for result in results[2:])
    whole = np.isfinite(np.hstack([here, velocities])).all(axis=1)
    if not whole.all():
        k = int(np.argmin(whole))
        last = here[max(k - 1, 0)]
        raise NotFiniteError(f"the velocity of {field.name!r} is not finite at t = {times[k]:.6g} s, after {last}")
    return FieldMotion(times, here, velocities, functions)
