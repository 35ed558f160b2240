"""Points of planar bodies whose velocities and accelerations are known without differentiation."""

from __future__ import annotations

import functools

import casadi as ca

from ..symbolic.coordinates import Coordinates
from .known_places import KnownPlaces
from .planar_paths import Parts, Path, position


class PlanarPlace:
    """Where a path ends, and how that moves.

    Attributes:
        position: in the world's axes, shape (2,) [m].
    """

    def __init__(self, path: Path, coordinates: Coordinates) -> None:
        """Place the point.

        Args:
            path: from the origin.
            coordinates: that its displacements turn and slide by.
        """
        self._coordinates = coordinates
        self._path = path
        self.position = position(path, coordinates.q)

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """Shape (2,) [m/s]."""
        return self._along(self._coordinates.v)

    @functools.cached_property
    def acceleration(self) -> ca.SX:
        """Shape (2,) [m/s²]."""
        drift = ca.SX.zeros(2)
        for parts in self._parts:
            for term in parts.drift:
                drift = drift + term.value
        return self._along(self._coordinates.a) + drift

    @functools.cached_property
    def _parts(self) -> list[Parts]:
        return [Parts.of(step, self._coordinates.q, self._coordinates.v) for step in self._path]

    def _along(self, rates: ca.SX) -> ca.SX:
        moved = ca.SX.zeros(2)
        for parts in self._parts:
            for i, column in parts.columns.items():
                moved = moved + column.value * rates[i]
        return moved


class PlanarPlaces:
    """The points of planar bodies that are known."""

    def __init__(self, coordinates: Coordinates) -> None:
        """Know none yet.

        Args:
            coordinates: of the robot.
        """
        self._known = KnownPlaces()
        self._coordinates = coordinates

    def carried(self, path: Path) -> ca.SX:
        """Where a path ends, known from then on, shape (2,) [m].

        Args:
            path: from the origin.
        """
        place = PlanarPlace(path, self._coordinates)
        self._known.learn(place.position, lambda: place.velocity, lambda: place.acceleration)
        return place.position

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        return self._known.rate(element)
