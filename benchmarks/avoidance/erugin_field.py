"""Erugin's field as a method of the study."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Literal

import casadi as ca
import numpy as np

from erugin.constraints import EruginField, choose_sides, circle, line

from .method import Method, Obstacle
from .scenes import CRUISE, LENGTH, MARGIN, Array, Scenes

AHEAD = 14.0
"""How far a preview looks [s]."""


@functools.lru_cache(maxsize=16)
def build(obstacles: int, dimension: int, avoidance: Literal["hug", "detour"] = "hug") -> EruginField:
    """The field along the path, around ``obstacles`` drifting discs or balls.

    Args:
        obstacles: number m.
        dimension: n.
        avoidance: the way round them.
    """
    rest = (0.0,) * (dimension - 1)
    far = (0.0, 9.0, 0.0)[:dimension]
    shapes = [circle(far, 0.5, velocity=(0.0, *rest), name=f"disc{j}") for j in range(obstacles)]
    path = line((0.0, *rest), (LENGTH, *rest))
    return EruginField(path, shapes, speed=CRUISE, attraction=3.0, margin=MARGIN, avoidance=avoidance)


class Field(Method):
    """Erugin's field. A hug passes obstacles where the field's own rule says, a detour as ``choose_sides`` does."""

    def __init__(self, gains: Mapping[str, float], name: str = "Erugin field") -> None:
        """With the gains κ [1/s] ``attraction`` and ``approach`` [1/s], ``swirl`` of a hug or ``rounding`` [m]."""
        self.name, self.gains = name, dict(gains)
        self.avoidance: Literal["hug", "detour"] = "detour" if "rounding" in self.gains else "hug"

    def velocity(
        self, x: ca.SX, t: ca.SX, obstacles: Sequence[Obstacle], sides: ca.SX, gains: Mapping[str, ca.SX]
    ) -> ca.SX:
        """The field's velocity, shape (n,) [m/s]."""
        field = build(len(obstacles), x.numel(), self.avoidance)
        axes = "xyz"[: x.numel()]
        ruled = self.avoidance == "hug"
        known = {"field.side": ca.SX(0.0 if ruled else 1.0)} | {f"field.{key}": gain for key, gain in gains.items()}
        for j, o in enumerate(obstacles):
            known[f"disc{j}.radius"] = o.radius
            known[f"field.side_disc{j}"] = ca.SX(0.0) if ruled else sides[j]
            known |= {f"disc{j}.{axis}": o.start[i] for i, axis in enumerate(axes)}
            known |= {f"disc{j}.v{axis}": o.velocity[i] for i, axis in enumerate(axes)}
        nominal = field.parameters.nominal
        numbers = ca.vertcat(*(known.get(key, ca.SX(nominal.get(key, 0.0))) for key in field.parameters.names))
        return ca.substitute(field.velocity(x, t), field.parameters.symbols, numbers)

    def choose(self, scenes: Scenes, gains: Mapping[str, float]) -> Array:
        """The side of each obstacle in each scene, shape (N, m); zeros, which are not used, for a hug."""
        if self.avoidance == "hug":
            return np.zeros(scenes.radii.shape)
        m, n = scenes.centers.shape[1:]
        field = build(m, n, self.avoidance)
        names, axes = field.parameters.names, "xyz"[:n]
        order = [f"disc{j}.{key}" for j in range(m) for key in (*axes, "radius", *(f"v{axis}" for axis in axes))]
        columns = [names.index(key) for key in order]
        values = field.parameters.values({f"field.{key}": gain for key, gain in gains.items()})
        signs = np.empty(scenes.radii.shape)
        for row, own in enumerate(scenes.numbers):
            values[columns] = own
            found = choose_sides(field, np.zeros(n), AHEAD, step=0.02, p=values)
            signs[row] = [found[f"field.side_disc{j}"] for j in range(m)]
        return signs
