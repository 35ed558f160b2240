"""Where and when a motion along a field can begin."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import finite, vector
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .cruise import FOLLOWED
from .field import EruginField

Array = NDArray[np.float64]
FLAT = 1e-9


def require_start(
    field: EruginField, start: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None, *, t: float = 0.0
) -> Array:
    """The start as an array, if a motion along the field can begin there.

    Args:
        field: to be followed.
        start: place, shape (n,) [m].
        p: parameters of the field: nominal, overridden by name, or the whole vector.
        t: time [s].

    Returns:
        The place, shape (n,) [m].

    Raises:
        ModelError: if an obstacle covers the start, it lies out of a region, an obstacle moves faster than the field
            follows, or the gradients of the path do not span its normal space there.
    """
    place, values, now = vector("start", start, field.dimension), field.parameters.values(p), finite("t", t)
    gaps, speeds, spread = (np.atleast_1d(a) for a in _kernel(field)(place, now, values))
    if gaps.size and gaps.min() <= 0.0:
        worst = int(np.argmin(gaps))
        curve = (*field.obstacles, *field.inside)[worst]
        kind = "inside" if worst < len(field.obstacles) else "outside of"
        raise ModelError(f"the start {place} lies {kind} {curve.name!r}, {abs(gaps[worst]):.4g} m deep")
    if speeds.size:
        fastest, limit = int(np.argmax(speeds)), values[field.parameters.names.index(f"{field.name}.limit")]
        if speeds[fastest] > FOLLOWED * limit:
            raise ModelError(
                f"{field.barriers[fastest].name!r} moves at {speeds[fastest]:.4g} m/s, but {field.name!r} follows at "
                f"most {FOLLOWED:g} of its limit, {FOLLOWED * limit:.4g} m/s: raise limit="
            )
    if not spread[0] > FLAT:
        raise ModelError(
            f"at the start {place} the gradients of {field.path.name!r} vanish or depend on each other (relative "
            f"volume {spread[0]:.2g}), so there is no way along it: start elsewhere"
        )
    return place


@functools.lru_cache(maxsize=16)
def _kernel(field: EruginField) -> Kernel:
    """Distances from the barriers, speeds of their references, and det JJᵀ of the path's gradients, scaled."""
    x, t, n = ca.SX.sym("x", field.dimension), ca.SX.sym("t"), field.dimension
    k = field.path.functions(x, t).numel()
    every = field.functions(x, t)
    gaps = ca.vertcat(ca.SX(0, 1), *(every[i] for i in range(k, every.numel())))
    speeds = ca.SX(0, 1)
    for curve in (*field.obstacles, *field.inside):
        center = curve.reference(t)
        rate = ca.SX(0) if center is None else ca.norm_2(ca.jacobian(center, t))
        speeds = ca.vertcat(speeds, rate)
    J = field.path.jacobian(x, t)
    gram = J @ J.T
    spread = ca.det(gram) / (1 + ca.trace(gram) / n) ** k
    inputs = {"x": x, "t": t, "p": field.parameters.symbols}
    return Kernel("start", inputs, {"gaps": gaps, "speeds": speeds, "spread": spread}, compiled=False)
