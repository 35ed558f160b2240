"""Solids by plain geometry in NumPy: numbers that are negative inside and positive outside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from erugin.constraints.curves import Spline

Array = NDArray[np.float64]
Level = Callable[[Array, float], Array]
"""Places, shape (N, n), and a time → shape (N,)."""


def rotation(angles: float | tuple[float, float, float]) -> Array:
    """By an angle in the plane, or by yaw, pitch and roll in space."""
    if isinstance(angles, float):
        return np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    return np.asarray(Rotation.from_euler("ZYX", angles).as_matrix())


def turned(vector: tuple[float, float, float]) -> Array:
    """By a rotation vector."""
    return np.asarray(Rotation.from_rotvec(vector).as_matrix())


def half_space(point: ArrayLike, normal: ArrayLike) -> Level:
    unit = np.asarray(normal) / np.linalg.norm(normal)
    return lambda x, _: (x - np.asarray(point)) @ unit


def ball(center: ArrayLike, radius: float) -> Level:
    return lambda x, _: np.linalg.norm(x - np.asarray(center), axis=1) - radius


def gauge(center: ArrayLike, axes: ArrayLike, exponent: float, turn: Array) -> Level:
    return lambda x, _: (np.abs((x - np.asarray(center)) @ turn / np.asarray(axes)) ** exponent).sum(axis=1) - 1


def cuboid(center: ArrayLike, sizes: ArrayLike, rounding: float, turn: Array | None = None) -> Level:
    """Signed distance: outside to the nearest place of the core, inside to the nearest face of the core."""
    half = np.asarray(sizes, dtype=np.float64) / 2 - rounding

    def level(x: Array, _: float) -> Array:
        y = (x - np.asarray(center)) @ (np.eye(len(half)) if turn is None else turn)
        outside = np.linalg.norm(y - np.clip(y, -half, half), axis=1)
        inside = np.minimum(half - y, half + y).min(axis=1)
        return np.asarray(np.where(inside > 0, -inside, outside) - rounding)

    return level


def to_segment(x: Array, a: Array, b: Array) -> Array:
    share = np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    return np.asarray(np.linalg.norm(x - a - share[:, None] * (b - a), axis=1))


def capsule(a: ArrayLike, b: ArrayLike, radius: float) -> Level:
    ends = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return lambda x, _: to_segment(x, *ends) - radius


def polygon(points: ArrayLike) -> Level:
    """Signed distance: the sign by Matplotlib, which counts crossings, the distance from the edges."""
    corners = np.asarray(points, dtype=np.float64)
    path = Path(np.vstack([corners, corners[:1]]))

    def level(x: Array, _: float) -> Array:
        edges = zip(corners, np.roll(corners, -1, axis=0), strict=True)
        distance = np.min([to_segment(x, a, b) for a, b in edges], axis=0)
        return np.asarray(np.where(path.contains_points(x), -distance, distance))

    return level


def tube(path: Spline, radius: float) -> Level:
    """Signed distance, by the distances from very many places on the path and parabolas through the nearest three."""
    points = path.at(np.linspace(0.0, path.length, 4001))
    tree = cKDTree(points)

    def level(x: Array, _: float) -> Array:
        nearest = np.asarray(tree.query(x)[1])
        inner = np.clip(nearest, 1, len(points) - 2)
        before, here, after = (((points[inner + i] - x) ** 2).sum(axis=1) for i in (-1, 0, 1))
        lowest = here - (after - before) ** 2 / (8 * (after - 2 * here + before))
        square = np.where(nearest == inner, lowest, ((points[nearest] - x) ** 2).sum(axis=1))
        return np.asarray(np.sqrt(np.maximum(square, 0)) - radius)

    return level


def least(*levels: Level) -> Level:
    return lambda x, t: np.min([level(x, t) for level in levels], axis=0)


def largest(*levels: Level) -> Level:
    return lambda x, t: np.max([level(x, t) for level in levels], axis=0)


def other_side(level: Level) -> Level:
    return lambda x, t: -level(x, t)


def drifting(level: Level, velocity: ArrayLike) -> Level:
    return lambda x, t: level(x - t * np.asarray(velocity), t)


def carried(level: Level, pivot: ArrayLike, shift: Callable[[float], Array], turn: Callable[[float], Array]) -> Level:
    """The solid shifted and turned about the pivot."""
    return lambda x, t: level(np.asarray(pivot) + (x - np.asarray(pivot) - shift(t)) @ turn(t), t)
