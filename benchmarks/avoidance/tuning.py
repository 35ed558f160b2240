"""Gains of the methods: all combinations of a grid are run on scenes set apart for that, and the best is kept.

The rule: most safe arrivals (the end passed, no collision) over the tuning sets of 1, 2, 3 and 5 obstacles together; of
equals the least 99th percentile of the way's length. ``TUNED`` holds what it gave with 100 scenes each;
``python benchmarks/bench_field.py --tune`` repeats the search.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from .barrier import BarrierFilter
from .erugin_field import Field
from .method import Method
from .motion import Mover
from .potential import PotentialField
from .scenes import COUNTS, Scenes, random_scenes

Gains = Mapping[str, float]
SEED = 7
"""Of the tuning sets; the study uses others."""

BARRIER = {"rate": (1.0, 2.0, 4.0, 8.0), "attraction": (1.0, 2.0)}
POTENTIAL = {"strength": (0.002, 0.005, 0.02), "reach": (0.3, 0.6, 1.5, 2.5), "ahead": (0.5, 1.0)}
WEAK = {"strength": (0.0005, 0.001, 0.002, 0.005), "reach": (0.2, 0.3, 0.6, 1.5)}
GRIDS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "Erugin field": {"attraction": (1.0, 2.0), "approach": (2.0, 4.0, 8.0), "swirl": (0.5, 1.0)},
    "Erugin field, detour": {"attraction": (1.0, 2.0), "rounding": (0.1, 0.2, 0.3, 0.4, 0.6)},
    "CBF-QP": BARRIER | {"rate": (0.5, 1.0, 2.0, 4.0), "share": (0.0,), "range": (1.0,)},
    "CBF-QP, tangential": BARRIER | {"share": (0.25, 0.5, 1.0), "range": (0.3, 1.0, 2.0)},
    "potential": POTENTIAL | WEAK | {"vortex": (0.0,), "drift": (0.0,)},
    "potential, vortex": POTENTIAL | {"vortex": (0.6, 1.2), "drift": (0.0, 1.0)},
}
"""The values that are tried, by method and gain; with all of them the path is returned to at a rate of 1/s or more."""


def combinations(name: str) -> Iterator[dict[str, float]]:
    """All gains that are tried for a method."""
    for values in itertools.product(*GRIDS[name].values()):
        yield dict(zip(GRIDS[name], values, strict=True))


def named(name: str, gains: Gains) -> Method:
    """The method of this name."""
    if name.startswith("Erugin"):
        return Field(gains, name)
    return BarrierFilter(gains, name) if name.startswith("CBF") else PotentialField(gains, name)


def methods(dimension: int) -> list[Method]:
    """Erugin's field, then the baselines, with the gains tuned for the plane or for space."""
    return [named(name, gains) for name, gains in TUNED[dimension].items()]


def score(method: Method, movers: Mapping[int, Mover], sets: Mapping[int, Scenes], gains: Gains) -> tuple[float, float]:
    """Safe arrivals, and minus the 99th percentile of the length [m]; of two the larger is the better."""
    safe, lengths = 0, list[float]()
    for count, scenes in sets.items():
        runs = movers[count].outcome(scenes, gains)
        safe += int(runs.safe.sum())
        lengths += list(runs.length[runs.safe])
    return float(safe), -float(np.percentile(lengths, 99)) if lengths else -np.inf


def tune(name: str, dimension: int, scenes: int = 100) -> tuple[dict[str, float], tuple[float, float]]:
    """The best gains of a method and their score; all are run on a quarter of the scenes, the best eight on all.

    Args:
        name: of the method, a key of ``GRIDS``.
        dimension: of the scenes.
        scenes: of each number of obstacles.
    """
    every = list(combinations(name))
    method = named(name, every[0])
    sets = {count: random_scenes(scenes, count, dimension, SEED) for count in COUNTS}
    some = {count: chosen[: max(1, scenes // 4)] for count, chosen in sets.items()}
    movers = {count: Mover(method, count, dimension) for count in COUNTS}
    first = sorted(every, key=lambda gains: score(method, movers, some, gains), reverse=True)[:8]
    scored = [(score(method, movers, sets, gains), gains) for gains in first]
    best = max(scored, key=lambda pair: pair[0])
    return best[1], best[0]


TUNED: Mapping[int, Mapping[str, Gains]] = {
    2: {
        "Erugin field": {"attraction": 1.0, "approach": 4.0, "swirl": 1.0},
        "Erugin field, detour": {"attraction": 1.0, "rounding": 0.3},
        "CBF-QP": {"rate": 2.0, "attraction": 1.0, "share": 0.0, "range": 1.0},
        "CBF-QP, tangential": {"rate": 4.0, "attraction": 1.0, "share": 0.25, "range": 2.0},
        "potential": {"strength": 0.0005, "reach": 0.2, "ahead": 1.0, "vortex": 0.0, "drift": 0.0},
        "potential, vortex": {"strength": 0.002, "reach": 0.3, "ahead": 0.5, "vortex": 0.6, "drift": 1.0},
    },
    3: {
        "Erugin field": {"attraction": 1.0, "approach": 2.0, "swirl": 0.5},
        "Erugin field, detour": {"attraction": 1.0, "rounding": 0.4},
        "CBF-QP": {"rate": 1.0, "attraction": 1.0, "share": 0.0, "range": 1.0},
        "CBF-QP, tangential": {"rate": 2.0, "attraction": 1.0, "share": 0.25, "range": 2.0},
        "potential": {"strength": 0.0005, "reach": 0.2, "ahead": 1.0, "vortex": 0.0, "drift": 0.0},
        "potential, vortex": {"strength": 0.002, "reach": 2.5, "ahead": 1.0, "vortex": 1.2, "drift": 1.0},
    },
}
"""By dimension and method."""
