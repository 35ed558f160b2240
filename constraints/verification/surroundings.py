"""Where and when to look at a field if nobody says so: where its curves lie, as long as the way along them takes."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ..curves import Curve
from .subject import Subject

Array = NDArray[np.float64]

SPARE = 0.15
"""Share of the diagonal by which the region is wider than what lies in it."""


def surroundings(field: Subject, values: Array) -> tuple[Array, Array, Array]:
    """Lower and upper corner of a region, shape (n,) [m], and three instants, shape (3,) [s].

    The region holds the path's landmarks and the obstacles' balls at t = 0, and a margin round them. The instants are
    0, half and all of the time that its diagonal takes at the cruise speed.

    Args:
        field: what is to be looked at.
        values: of its parameters, shape (np,).

    Raises:
        ModelError: if the path does not tell where it lies.
    """
    t, symbols = ca.SX.sym("t"), field.parameters.symbols
    path = _held(field.path, t)
    if path is None:
        raise ModelError(
            f"{field.path.name!r} does not tell where it lies, so say where to look: low= and high=, the corners of a "
            "region"
        )
    others = [found for found in (_held(one, t) for one in (*field.obstacles, *field.inside)) if found is not None]
    places = ca.horzcat(path, *others)
    kernel = Kernel("surroundings", {"t": t, "p": symbols}, {"places": ca.densify(places)}, compiled=False)
    found = kernel(0.0, values)[0]
    low, high = found.min(axis=1), found.max(axis=1)
    diagonal = float(np.linalg.norm(high - low))
    names, key = field.parameters.names, f"{field.name}.speed"
    span = diagonal / float(values[names.index(key)]) if key in names else 0.0
    spare = SPARE * diagonal
    return low - spare, high + spare, np.array([0.0, span / 2, span])


def _held(curve: Curve, t: ca.SX) -> ca.SX | None:
    """Places, shape (n, k), of which the box holds a curve or a good part of it; None if it tells nothing."""
    marks = curve.landmarks(t)
    if marks is not None:
        return marks
    center, radius = curve.reference(t), curve.extent(t)
    if center is None or radius is None:
        return None
    n = curve.dimension
    return ca.horzcat(center - radius * ca.SX.ones(n), center + radius * ca.SX.ones(n))
