"""Points of planar bodies whose velocities and accelerations are known without differentiation."""

from __future__ import annotations

import functools

import casadi as ca

from ..symbolic.coordinates import Coordinates
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
    """Points that are known, found again in expressions that were made of them."""

    def __init__(self, coordinates: Coordinates) -> None:
        """Know none yet.

        Args:
            coordinates: of the robot.
        """
        self._coordinates = coordinates
        self._positions: dict[int, tuple[PlanarPlace, int]] = {}
        self._velocities: dict[int, tuple[PlanarPlace, int]] = {}

    def carried(self, path: Path) -> ca.SX:
        """Where a path ends, known from then on, shape (2,) [m].

        Args:
            path: from the origin.
        """
        place = PlanarPlace(path, self._coordinates)
        for i, x in enumerate(ca.vertsplit(place.position)):
            # Numbers and symbols are differentiated as such.
            if not (x.is_constant() or x.is_symbolic()):
                self._positions.setdefault(x.element_hash(), (place, i))
        return place.position

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        key = element.element_hash()
        if key in self._positions:
            place, i = self._positions[key]
            for j in range(2):
                self._velocities.setdefault(place.velocity[j].element_hash(), (place, j))
            return place.velocity[i]
        if key in self._velocities:
            place, i = self._velocities[key]
            return place.acceleration[i]
        return None
