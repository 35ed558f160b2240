"""A hinge."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from ..frame import Frame
from ..spatial import Twist
from ..turn import Turn, turned
from .joint import Joint, constant, unit_axis


class Revolute(Joint):
    """Rotation by an angle q about a fixed axis; URDF's revolute and continuous joints."""

    units = ("rad",)
    nv = 1
    suffixes = ("",)

    def __init__(self, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> None:
        """Fix the axis.

        Args:
            axis: direction in A, made a unit vector; z if not given.

        Raises:
            ModelError: for an axis of length zero.
        """
        self._axis = unit_axis("axis of a revolute joint", axis)

    @property
    def axis(self) -> tuple[float, float, float]:
        """Unit vector in A about which B turns."""
        return self._axis

    def pose(self, q: ca.SX) -> Frame:
        """B turned by q about the axis."""
        return Frame(turned(self._axis, q), ca.SX(ca.DM.zeros(3)))

    def subspace(self, q: ca.SX) -> Twist:
        """(axis; 0)."""
        del q
        return Twist(constant(self._axis), ca.SX(ca.DM.zeros(3)))

    def turn(self, q: ca.SX) -> Turn:
        """About the axis."""
        return Turn.hinge(self._axis, q)

    def own_subspace(self, q: ca.SX) -> Twist:
        """(axis; 0): its own rotation leaves the axis where it is."""
        return self.subspace(q)

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Turned by a share of the angle."""
        return self.pose(ratio * q), self.subspace(q) @ ratio
