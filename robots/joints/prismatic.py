"""A slide."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ..frame import Frame
from ..spatial import Twist
from .joint import Joint, constant, unit_axis


class Prismatic(Joint):
    """Displacement by a length q along a fixed axis."""

    units = ("m",)
    nv = 1
    suffixes = ("",)

    def __init__(self, axis: Sequence[float] = (1.0, 0.0, 0.0)) -> None:
        """Fix the axis.

        Args:
            axis: direction in A, made a unit vector; x if not given.

        Raises:
            ModelError: for an axis of length zero.
        """
        self._axis = unit_axis("axis of a prismatic joint", axis)

    @property
    def axis(self) -> tuple[float, float, float]:
        """Unit vector in A along which B moves."""
        return self._axis

    def pose(self, q: ca.SX) -> Frame:
        """B moved by q along the axis."""
        return Frame(ca.SX(ca.DM.eye(3)), constant(self._axis) * q)

    def subspace(self, q: ca.SX) -> Twist:
        """(0; axis)."""
        del q
        return Twist(ca.SX(ca.DM.zeros(3)), constant(self._axis))

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Moved by a share of the length."""
        return self.pose(ratio * q), self.subspace(q) @ ratio
