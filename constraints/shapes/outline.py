"""The vertices of a polygon, checked: a closed line without crossings that encloses an area."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import reals
from ...symbolic.errors import ModelError

Array = NDArray[np.float64]

THIN = 1e-9
"""Sines and relative distances below this count as zero."""


def read_outline(name: str, points: Sequence[Sequence[float]] | Array) -> Array:
    """The vertices counter-clockwise, shape (k, 2) [m], each a true corner.

    A last vertex that repeats the first is left out, for the outline closes by itself.

    Args:
        name: of the polygon, for messages.
        points: vertices in either sense of rotation, shape (k, 2) [m].

    Raises:
        ModelError: for fewer than three vertices, repeated or superfluous ones, edges that touch or cross, or no area.
    """
    try:
        array = reals("points", points)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name!r}: vertices must be rows of two numbers, got {points!r}") from error
    if array.ndim != 2 or array.shape[1] != 2:
        raise ModelError(f"{name!r}: vertices must have shape (k, 2), got {array.shape}: a polygon lies in the plane")
    if not np.isfinite(array).all():
        raise ModelError(f"{name!r}: every vertex must be finite, got {array[~np.isfinite(array).all(axis=1)][0]}")
    if len(array) > 1 and (array[0] == array[-1]).all():
        array = array[:-1]
    if len(array) < 3:
        raise ModelError(f"{name!r} is not closed: {len(array)} different vertices enclose nothing, at least 3 do")
    _require_simple(name, array)
    area = signed_area(array)
    size = float(np.ptp(array, axis=0).max())
    if abs(area) <= THIN * size**2:
        raise ModelError(f"{name!r} encloses no area: {abs(area):.3g} m² with an extent of {size:.3g} m")
    outline = array if area > 0 else array[::-1]
    for i, (before, corner, after) in enumerate(zip(np.roll(array, 1, 0), array, np.roll(array, -1, 0), strict=True)):
        if abs(_sine(corner - before, after - corner)) <= THIN:
            raise ModelError(f"{name!r}: vertex {i}, {corner}, lies straight between its neighbours; leave it out")
    return outline


def signed_area(outline: Array) -> float:
    """Area [m²] of an ``outline`` of shape (k, 2), positive if it runs counter-clockwise."""
    x, y = (outline - outline[0]).T
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def centroid(outline: Array) -> Array:
    """Centre of the area, shape (2,) [m], of an ``outline`` of shape (k, 2)."""
    shifted = outline - outline[0]
    after = np.roll(shifted, -1, 0)
    weights = shifted[:, 0] * after[:, 1] - shifted[:, 1] * after[:, 0]
    center: Array = outline[0] + ((shifted + after) * weights[:, None]).sum(axis=0) / (3 * weights.sum())
    return center


def _require_simple(name: str, array: Array) -> None:
    count = len(array)
    size = float(np.ptp(array, axis=0).max())
    ends = np.roll(array, -1, 0)
    for i in range(count):
        if np.linalg.norm(ends[i] - array[i]) <= THIN * size:
            raise ModelError(f"{name!r}: vertices {i} and {(i + 1) % count} coincide at {array[i]}")
    for i, j in itertools.combinations(range(count), 2):
        if j == i + 1 or (i == 0 and j == count - 1):
            corner = (array[i], array[j], ends[j]) if j == i + 1 else (array[j], array[i], ends[i])
            back, on = corner[0] - corner[1], corner[2] - corner[1]
            if abs(_sine(back, on)) <= THIN and float(back @ on) > 0:
                raise ModelError(f"{name!r} turns back on itself at vertex {j if j == i + 1 else i}, {corner[1]}")
        elif _gap(array[i], ends[i], array[j], ends[j]) <= THIN * size:
            raise ModelError(
                f"{name!r} crosses or touches itself: the edge from vertex {i} to {(i + 1) % count} and the one from "
                f"{j} to {(j + 1) % count}"
            )


def _sine(a: Array, b: Array) -> float:
    return float(a[0] * b[1] - a[1] * b[0]) / float(np.linalg.norm(a) * np.linalg.norm(b))


def _gap(a: Array, b: Array, c: Array, d: Array) -> float:
    """Distance between the segments ab and cd, zero if they cross."""

    def side(p: Array, q: Array, r: Array) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    if side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0:
        return 0.0
    return min(_distance(a, c, d), _distance(b, c, d), _distance(c, a, b), _distance(d, a, b))


def _distance(x: Array, a: Array, b: Array) -> float:
    share = float(np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0))
    return float(np.linalg.norm(x - a - share * (b - a)))
