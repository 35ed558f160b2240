"""All methods on the same scenes, and what is counted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .enclosure import enclosed
from .grid import FINE, PLANE, SPACE
from .motion import Mover, Runs
from .scenes import BOUND, LENGTH, Array, Scenes, random_scenes
from .tuning import methods
from .ways import Way, shortest_way

Mask = NDArray[np.bool_]
SEARCHES = 400
"""At most so many searches for a shortest way per method and number of obstacles."""


@dataclass(frozen=True)
class Task:
    """The scenes of one line of the study."""

    dimension: int
    obstacles: int
    scenes: int
    seed: int


@dataclass(frozen=True)
class Row:
    """Results of one method in the scenes of a task.

    Attributes:
        task: the scenes.
        method: its name.
        collisions: runs in which the point was inside an obstacle at any time.
        arrivals: runs that passed the end of the path without a collision.
        feasible: scenes in which that is possible, as far as is known.
        undecided: scenes of which neither is known.
        clearance: the least of all runs [m].
        median: of the lengths of arrivals over the straight line.
        longest: their 99th percentile; no length over the shortest is larger.
        ratio: 99th percentile of the lengths of arrivals over the shortest way found.
        common: as ``longest``, of the scenes in which every method arrives.
        speed: the largest [m/s].
        acceleration: 99th percentile of the largest of each run [m/s²].
    """

    task: Task
    method: str
    collisions: int
    arrivals: int
    feasible: int
    undecided: int
    clearance: float
    median: float
    longest: float
    ratio: float
    common: float
    speed: float
    acceleration: float


@dataclass(frozen=True, eq=False)
class Result:
    """Rows, and the runs that they count, by method."""

    rows: tuple[Row, ...]
    runs: Mapping[str, Runs]


def run_task(task: Task) -> Result:
    """Move the point with every method through the scenes of a task."""
    scenes = random_scenes(task.scenes, task.obstacles, task.dimension, task.seed)
    every = {m.name: Mover(m, task.obstacles, task.dimension).outcome(scenes) for m in methods(task.dimension)}
    feasible, undecided = feasibility(scenes, every)
    found: dict[int, float] = {}

    def shortest(scene: int) -> float:
        if scene not in found:
            way = find_way(scenes[scene : scene + 1], fine=False)
            found[scene] = LENGTH if way is None else way.length
        return found[scene]

    together = np.logical_and.reduce([runs.safe for runs in every.values()])
    known = (feasible, undecided, together)
    return Result(tuple(count(task, name, runs, known, shortest) for name, runs in every.items()), every)


def count(task: Task, name: str, runs: Runs, known: tuple[Mask, Mask, Mask], shortest: Callable[[int], float]) -> Row:
    """The row of a method.

    Args:
        task: the scenes.
        name: of the method.
        runs: through all scenes.
        known: which scenes are feasible, of which that is undecided, and in which every method arrives safely.
        shortest: the shortest way through a scene, by its number [m].
    """
    feasible, undecided, together = known
    safe = np.flatnonzero(runs.safe)
    lengths = runs.length[safe]
    return Row(
        task,
        name,
        collisions=int(runs.collided.sum()),
        arrivals=len(safe),
        feasible=int(feasible.sum()),
        undecided=int(undecided.sum()),
        clearance=float(np.min(runs.clearance)),
        median=float(np.median(lengths)) / LENGTH if len(safe) else np.nan,
        longest=upper_quantile(lengths) / LENGTH,
        ratio=quantile_of_ratios(lengths, [functools.partial(shortest, int(i)) for i in safe]),
        common=upper_quantile(runs.length[together]) / LENGTH,
        speed=float(np.max(runs.speed)),
        acceleration=upper_quantile(runs.acceleration),
    )


def feasibility(scenes: Scenes, every: Mapping[str, Runs]) -> tuple[Mask, Mask]:
    """Scenes of which it is known that the end can be reached, and those of which neither is known.

    A safe arrival within the speed bound by any method proves it. For the others a way is searched, on a coarse and on
    a fine grid; failing that, a proof that no path exists.

    Args:
        scenes: N of them.
        every: runs through them, by method.
    """
    feasible = np.zeros(len(scenes), dtype=bool)
    for runs in every.values():
        feasible |= runs.safe & (runs.speed <= BOUND + 1e-9)
    undecided = np.zeros_like(feasible)
    for i in np.flatnonzero(~feasible):
        scene = scenes[i : i + 1]
        feasible[i] = find_way(scene, fine=True) is not None
        undecided[i] = not feasible[i] and not enclosed(scene, FINE if scene.centers.shape[2] == 2 else SPACE)
    return feasible, undecided


def find_way(scene: Scenes, *, fine: bool) -> Way | None:
    """The shortest way on the grid for the plane or for space, if ``fine`` on a finer one where that finds none."""
    if scene.centers.shape[2] == 3:
        return shortest_way(scene, SPACE)
    way = shortest_way(scene, PLANE)
    return shortest_way(scene, FINE) if way is None and fine else way


def upper_quantile(values: Array, share: float = 0.99) -> float:
    """The least of the values that at least this share of them does not exceed; NaN of none."""
    if len(values) == 0:
        return np.nan
    return float(np.sort(values)[::-1][_allowed(len(values), share)])


def quantile_of_ratios(lengths: Array, shortest: list[Callable[[], float]], share: float = 0.99) -> float:
    """The same of length over shortest, with no more searches than it takes.

    No shortest way is shorter than the straight line, so no ratio is larger than length over straight line: going from
    the longest down, the quantile is known as soon as the next bound does not reach it. After ``SEARCHES`` of them the
    bounds stand for the ratios that are left, which can only raise the result.

    Args:
        lengths: of ways, shape (k,) [m].
        shortest: the shortest for each, found when called [m].
        share: of the ratios that do not exceed it.
    """
    if len(lengths) == 0:
        return np.nan
    allowed = _allowed(len(lengths), share)
    bounds = lengths / LENGTH
    ratios = bounds.copy()
    order = np.argsort(-bounds)
    for done, i in enumerate(order):
        if done > allowed and np.sort(ratios[order[:done]])[::-1][allowed] >= bounds[i]:
            break
        if done == SEARCHES:
            break
        # What the grid finds may be longer than the method's own way, which then is the shortest known.
        ratios[i] = max(1.0, lengths[i] / shortest[i]())
    return float(np.sort(ratios)[::-1][allowed])


def _allowed(count: int, share: float) -> int:
    return int((1.0 - share) * count + 1e-9)
