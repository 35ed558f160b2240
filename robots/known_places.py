"""Points found again, with their velocities and accelerations, in expressions that were made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca

from ..symbolic.pickles import Portable

Rate = Callable[[], ca.SX]
Known = tuple[ca.SX, Rate, Rate]


class KnownPlaces(Portable):
    """The points that are known so far, by the coordinates of their positions and velocities."""

    def __init__(self) -> None:
        """Know none."""
        # An expression that is gone could leave its hash to another: all points are kept.
        self._known: list[Known] = []
        self._positions: dict[int, tuple[Known, int]] = {}
        self._velocities: dict[int, tuple[Known, int]] = {}

    def __getstate__(self) -> dict[str, object]:
        """The points; hashes are those of one process."""
        return {key: value for key, value in super().__getstate__().items() if key == "_known"}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Find them again."""
        self._positions, self._velocities = {}, {}
        super().__setstate__(state)
        for known in self._known:
            self._find(known)

    def learn(self, position: ca.SX, velocity: Rate, acceleration: Rate) -> None:
        """Know a point from now on.

        Args:
            position: of the point, shape (n,) [m].
            velocity: gives its velocity, shape (n,) [m/s]; asked for when it is needed.
            acceleration: gives its acceleration, shape (n,) [m/s²], likewise.
        """
        known = position, velocity, acceleration
        self._known.append(known)
        self._find(known)

    def _find(self, known: Known) -> None:
        for i, x in enumerate(ca.vertsplit(known[0])):
            # Numbers and symbols are differentiated as such.
            if not (x.is_constant() or x.is_symbolic()):
                self._positions.setdefault(x.element_hash(), (known, i))

    def rate(self, element: ca.SX) -> ca.SX | None:
        """The rate of a coordinate of a known point, or of its velocity; None for anything else.

        Args:
            element: a scalar expression.
        """
        key = element.element_hash()
        if key in self._positions:
            known, i = self._positions[key]
            velocity = known[1]()
            for j in range(velocity.numel()):
                self._velocities.setdefault(velocity[j].element_hash(), (known, j))
            return velocity[i]
        if key in self._velocities:
            known, i = self._velocities[key]
            return known[2]()[i]
        return None
