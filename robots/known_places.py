"""Points found again, with their velocities and accelerations, in expressions that were made of them."""

from __future__ import annotations

from typing import Protocol

import casadi as ca


class Moving(Protocol):
    """A point whose rates are known without differentiation."""

    position: ca.SX

    @property
    def velocity(self) -> ca.SX:
        """Of the shape of the position [m/s]."""
        ...

    @property
    def acceleration(self) -> ca.SX:
        """Of the shape of the position [m/s²]."""
        ...


class KnownPlaces:
    """The points that are known so far, by the coordinates of their positions and velocities."""

    def __init__(self) -> None:
        """Know none."""
        # An expression that is gone could leave its hash to another: all places are kept.
        self._known: list[Moving] = []
        self._positions: dict[int, tuple[Moving, int]] = {}
        self._velocities: dict[int, tuple[Moving, int]] = {}

    def learn(self, place: Moving) -> None:
        """Know a point from now on.

        Args:
            place: the point.
        """
        self._known.append(place)
        for i, x in enumerate(ca.vertsplit(place.position)):
            # Numbers and symbols are differentiated as such.
            if not (x.is_constant() or x.is_symbolic()):
                self._positions.setdefault(x.element_hash(), (place, i))

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        key = element.element_hash()
        if key in self._positions:
            place, i = self._positions[key]
            for j in range(place.velocity.numel()):
                self._velocities.setdefault(place.velocity[j].element_hash(), (place, j))
            return place.velocity[i]
        if key in self._velocities:
            place, i = self._velocities[key]
            return place.acceleration[i]
        return None
