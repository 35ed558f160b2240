"""Seeded random scenes: drifting discs in the plane, drifting balls in space, around a straight path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LENGTH, CRUISE, BOUND = 12.0, 1.0, 1.5
"""The path from the origin along the first axis [m], the speed along it and the largest speed allowed [m/s]."""
MARGIN = 0.1
"""The clearance that the methods which can be given one are to keep [m]."""
STEP, SPAN = 0.01, 40.0
"""A velocity is held for a step, and a run that has not passed the end of the path after the span has failed [s]."""
COUNTS = (1, 2, 3, 5)


@dataclass(frozen=True, eq=False)
class Scenes:
    """N scenes of m obstacles in n dimensions.

    Attributes:
        centers: places at t = 0, shape (N, m, n) [m].
        radii: shape (N, m) [m].
        velocities: constant drifts, shape (N, m, n) [m/s].
    """

    centers: Array
    radii: Array
    velocities: Array

    def __len__(self) -> int:
        """Number of scenes."""
        return len(self.centers)

    def __getitem__(self, chosen: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Scenes:
        """Some of the scenes."""
        return Scenes(self.centers[chosen], self.radii[chosen], self.velocities[chosen])

    @property
    def numbers(self) -> Array:
        """Centre, radius and drift of the first obstacle, of the second, …, shape (N, m (2 n + 1))."""
        each = np.concatenate([self.centers, self.radii[..., None], self.velocities], axis=2)
        return each.reshape(len(self), -1)


def random_scenes(count: int, obstacles: int, dimension: int, seed: int) -> Scenes:
    """Radii of 0.2 to 0.7 m, drifts of up to 0.4 of the cruise speed in any direction, the start always free.

    Centres begin 1.5 m or more from both ends along the path, up to 2 m off it to either side in the plane and up to
    1 m along both other axes in space, where fewer of them would otherwise be in the way.

    Args:
        count: number of scenes N.
        obstacles: number m in each.
        dimension: 2 or 3.
        seed: the same seed gives the same scenes; each (obstacles, dimension) has scenes of its own.
    """
    rng = np.random.default_rng([seed, dimension, obstacles])
    unit = rng.random((count, obstacles, 4 + dimension - 1))
    radii = 0.2 + 0.5 * unit[..., 0]
    width = 2.0 if dimension == 2 else 1.0
    along = 1.5 + (LENGTH - 3.0) * unit[..., 1:2]
    aside = width * (2.0 * unit[..., 2 : dimension + 1] - 1.0)
    speed, course = 0.4 * CRUISE * unit[..., dimension + 1], 2.0 * np.pi * unit[..., dimension + 2]
    if dimension == 2:
        heading = np.stack([np.cos(course), np.sin(course)], axis=-1)
    else:
        height = 2.0 * rng.random((count, obstacles)) - 1.0
        flat = np.sqrt(1.0 - height**2)
        heading = np.stack([flat * np.cos(course), flat * np.sin(course), height], axis=-1)
    return Scenes(np.concatenate([along, aside], axis=-1), radii, speed[..., None] * heading)
