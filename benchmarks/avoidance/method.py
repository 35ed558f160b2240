"""Method that moves the point: a velocity that depends on where the point and the obstacles are now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from .scenes import Array, Scenes


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A disc or ball, as expressions.

    Attributes:
        start: centre at t = 0, shape (n,) [m].
        center: centre now, shape (n,) [m].
        radius: [m].
        velocity: drift, shape (n,) [m/s].
    """

    start: ca.SX
    center: ca.SX
    radius: ca.SX
    velocity: ca.SX


class Method(ABC):
    """A velocity w(x, t), with gains that can be tuned without building it again.

    Attributes:
        name: for tables.
        gains: values by name.
        sided: whether it depends on the signs ``sides``, on which side of each obstacle to pass.
    """

    name: str
    gains: Mapping[str, float]
    sided: bool = True

    @abstractmethod
    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        """The velocity at place x, shape (n,), and time t, with a sign for each obstacle, shape (m,) [m/s]."""

    def choose(self, scenes: Scenes, gains: Mapping[str, float]) -> Array | None:
        """The signs for each scene, shape (N, m); None if several are to be run and the best outcome counts."""
        return None if self.sided else np.ones(scenes.radii.shape)


def ahead(obstacle: Obstacle, x: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The unit normal of an obstacle towards x, shape (n,), and the distance from its boundary [m]."""
    offset = x - obstacle.center
    distance = ca.sqrt(ca.sumsqr(offset) + 1e-18)
    return offset / distance, distance - obstacle.radius


def turned(normal: ca.SX) -> ca.SX:
    """The normal turned by −90° in the plane of the first two axes; in space its part along the third is dropped.

    In front of an obstacle, where the normal is −e₁, it is +e₂.
    """
    return ca.vertcat(normal[1], -normal[0], *([0] * (normal.numel() - 2)))


def saturated(velocity: ca.SX, bound: float) -> ca.SX:
    """The velocity, shortened to the bound if it is faster."""
    return velocity / ca.sqrt(ca.fmax(1.0, ca.sumsqr(velocity) / bound**2))
