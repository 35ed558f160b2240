"""Places and times at which ways through a scene are searched."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .scenes import LENGTH, Array, Scenes


@dataclass(frozen=True)
class Grid:
    """Places in a box around the path, and times.

    Attributes:
        spacing: between neighbours along every axis [m]; a divisor of the path's length.
        layer: between two times [s].
        behind: how far the box reaches back from the start [m].
        aside: how far it reaches to either side of the path [m].
    """

    spacing: float
    layer: float
    behind: float
    aside: float

    def axes(self, dimension: int) -> list[Array]:
        """Coordinates along every axis; the start and the end of the path are among them."""
        back, up = round(self.behind / self.spacing), round(self.aside / self.spacing)
        along = np.arange(-back, round(LENGTH / self.spacing) + 1, dtype=np.float64)
        aside = np.arange(-up, up + 1, dtype=np.float64)
        return [self.spacing * axis for axis in (along, *[aside] * (dimension - 1))]

    def places(self, dimension: int) -> Array:
        """Coordinates of all places, one more axis than the space has, the coordinates along the last."""
        return np.stack(np.meshgrid(*self.axes(dimension), indexing="ij"), axis=-1)

    def start(self, dimension: int) -> tuple[int, ...]:
        """Index of the origin."""
        return (round(self.behind / self.spacing), *[round(self.aside / self.spacing)] * (dimension - 1))

    def moves(self, dimension: int, reach: float) -> list[tuple[int, ...]]:
        """Index differences of places that are at most ``reach`` apart [m]."""
        span = range(-int(reach / self.spacing + 1e-9), int(reach / self.spacing + 1e-9) + 1)
        far = (reach / self.spacing + 1e-9) ** 2
        return [move for move in itertools.product(span, repeat=dimension) if sum(i * i for i in move) <= far]


PLANE = Grid(spacing=0.1, layer=0.2, behind=2.0, aside=4.0)
FINE = Grid(spacing=0.05, layer=0.1, behind=2.0, aside=4.0)
SPACE = Grid(spacing=0.15, layer=0.2, behind=1.5, aside=2.25)


def free_places(scene: Scenes, places: Array, t: float, radii: Array) -> NDArray[np.bool_]:
    """Places that are at least ``radii`` from the obstacles' centres at time t.

    Args:
        scene: one scene.
        places: coordinates along the last axis [m].
        t: time [s].
        radii: one per obstacle, shape (m,) [m].
    """
    free = np.ones(places.shape[:-1], dtype=bool)
    for center, drift, radius in zip(scene.centers[0], scene.velocities[0], radii, strict=True):
        if radius > 0.0:
            free &= ((places - center - t * drift) ** 2).sum(axis=-1) >= radius**2
    return free


def shifted(move: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Slices that pair every place with the one that lies ``move`` before it."""
    target = tuple(slice(max(d, 0), None if d >= 0 else d) for d in move)
    source = tuple(slice(max(-d, 0), None if d <= 0 else -d) for d in move)
    return target, source
