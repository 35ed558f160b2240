"""The shortest way through one scene: a search over places and times, then legs drawn straight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .grid import Grid, free_places, shifted
from .scenes import BOUND, LENGTH, SPAN, Array, Scenes

Lengths = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Way:
    """A way that keeps out of every obstacle at a speed of at most ``BOUND``.

    Attributes:
        t: times, shape (k,) [s].
        x: places, shape (k, n) [m]; between them straight, at constant speed.
    """

    t: Array
    x: Array

    @property
    def length(self) -> float:
        """Its length [m]."""
        return float(np.linalg.norm(np.diff(self.x, axis=0), axis=1).sum())


def shortest_way(scene: Scenes, grid: Grid) -> Way | None:
    """The shortest way from the origin to the end of the path, within ``SPAN``; None if none is found.

    Lengths are minimised by dynamic programming over the grid's places at the grid's times, waiting included. Both ends
    of a move keep a distance of √(r² + (s/2)²) from an obstacle, s being the farthest that the two can move relative to
    one another meanwhile, so that the whole move is outside: what is found is a way. That none is found proves nothing.
    The way is then pulled straight as far as its legs stay outside, now by the exact distance, which removes what the
    few directions of the grid add.

    Args:
        scene: one scene.
        grid: its resolution.
    """
    layers = _search(scene, grid)
    if layers is None:
        return None
    return _straightened(scene, _traced(grid, scene.centers.shape[2], layers))


def _search(scene: Scenes, grid: Grid) -> list[Lengths] | None:
    """Least length at which each place is reached, per time, infinite if not; up to the time of the best arrival."""
    n = scene.centers.shape[2]
    places = grid.places(n)
    moves = [(move, np.float32(grid.spacing * np.linalg.norm(move))) for move in grid.moves(n, BOUND * grid.layer)]
    relative = (BOUND + np.linalg.norm(scene.velocities[0], axis=1)) * grid.layer
    radii = np.sqrt(scene.radii[0] ** 2 + (relative / 2) ** 2)
    cost = np.full(places.shape[:-1], np.inf, dtype=np.float32)
    cost[grid.start(n)] = 0.0
    cost[~free_places(scene, places, 0.0, radii)] = np.inf
    remaining = (LENGTH - places[..., 0]).astype(np.float32)
    layers, best, last = [cost], np.inf, 0
    for k in range(1, round(SPAN / grid.layer) + 1):
        # What cannot beat the best arrival by a millimetre is dropped; nothing left, nothing better.
        alive = np.where(cost + remaining < best - 1e-3, cost, np.float32(np.inf))
        if not np.isfinite(alive).any():
            break
        cost = np.full_like(alive, np.inf)
        for move, length in moves:
            target, source = shifted(move)
            np.minimum(cost[target], alive[source] + length, out=cost[target])
        cost[~free_places(scene, places, k * grid.layer, radii)] = np.inf
        if not scene.velocities.any() and np.array_equal(cost, layers[-1]):
            break
        layers.append(cost)
        if cost[-1].min() < best - 1e-3:
            best, last = float(cost[-1].min()), k
    return layers[: last + 1] if last else None


def _traced(grid: Grid, dimension: int, layers: list[Lengths]) -> Way:
    """The way of the least length in the last layer."""
    moves = grid.moves(dimension, BOUND * grid.layer)
    sizes = layers[0].shape
    place: tuple[int, ...] = (sizes[0] - 1, *(int(i) for i in np.unravel_index(layers[-1][-1].argmin(), sizes[1:])))
    places: list[tuple[int, ...]] = [place]
    for before in layers[-2::-1]:
        reached: list[tuple[float, tuple[int, ...]]] = []
        for move in moves:
            source = tuple(i - d for i, d in zip(place, move, strict=True))
            if all(0 <= i < size for i, size in zip(source, sizes, strict=True)):
                reached.append((float(before[source]) + grid.spacing * float(np.linalg.norm(move)), source))
        place = min(reached)[1]
        places.append(place)
    indices = np.array(places[::-1], dtype=np.float64) - np.array(grid.start(dimension))
    return Way(grid.layer * np.arange(len(indices), dtype=np.float64), grid.spacing * indices)


def _straightened(scene: Scenes, way: Way) -> Way:
    t, x = way.t, way.x.copy()
    for _ in range(3):
        for span in (*(len(t) - 1 >> k for k in range(len(t).bit_length() - 1)), 3, 2):
            for i in range(0, len(t) - span, max(1, span // 4)):
                _cut(scene, t, x, i, i + span)
        for _ in range(5):
            for i in range(1, len(t) - 1):
                _pull(scene, t, x, i)
    return Way(t, x)


def _cut(scene: Scenes, t: Array, x: Array, i: int, j: int) -> None:
    """Join two places by one straight leg, if that is shorter and clear; the last may move along the end's plane."""
    before = np.linalg.norm(np.diff(x[i : j + 1], axis=0), axis=1).sum()
    for end in [x[j]] if j < len(t) - 1 else [np.append(LENGTH, x[i, 1:]), x[j]]:
        if np.linalg.norm(end - x[i]) < before - 1e-9 and _clear(scene, t[i], t[j], x[i], end):
            x[i : j + 1] = x[i] + (t[i : j + 1, None] - t[i]) / (t[j] - t[i]) * (end - x[i])
            return


def _pull(scene: Scenes, t: Array, x: Array, i: int) -> None:
    """Move a place towards the middle of its neighbours, as far as both legs stay clear."""
    pull = (x[i - 1] + x[i + 1]) / 2 - x[i]
    if np.linalg.norm(pull) < 1e-5:
        return
    for share in (1.0, 0.5, 0.2):
        target = x[i] + share * pull
        if _clear(scene, t[i - 1], t[i], x[i - 1], target) and _clear(scene, t[i], t[i + 1], target, x[i + 1]):
            x[i] = target
            return


def _clear(scene: Scenes, t0: float, t1: float, x0: Array, x1: Array) -> bool:
    """True if a straight leg at constant speed is outside of every obstacle, ends included.

    It is never too fast: it is shorter than the legs that it stands for, or a mean of two, in the same time.
    """
    w = (x1 - x0) / (t1 - t0)
    offset = x0 - scene.centers[0] - t0 * scene.velocities[0]
    relative = w - scene.velocities[0]
    time = -(offset * relative).sum(axis=1) / np.maximum((relative**2).sum(axis=1), 1e-30)
    nearest = offset + np.clip(time, 0.0, t1 - t0)[:, None] * relative
    return bool((np.linalg.norm(nearest, axis=1) >= scene.radii[0]).all())
