"""Free motion in a plane."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

from ..frame import Frame
from ..spatial import Twist
from ..turn import Turn, turned
from .joint import Joint, constant, unit_axis


class Planar(Joint):
    """q = (x, y, angle): displacement in the plane across an axis, then rotation about it; v = q̇.

    The directions x and y are those of A turned by the shortest way that brings its z axis to the given one.
    """

    units = ("m", "m", "rad")
    nv = 3
    suffixes = (".x", ".y", ".angle")

    def __init__(self, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> None:
        """Fix the normal of the plane.

        Args:
            axis: normal in A, made a unit vector; z if not given.

        Raises:
            ModelError: for an axis of length zero.
        """
        self._axis = unit_axis("normal of a planar joint", axis)
        self._first, self._second = _across(self._axis)

    @property
    def axis(self) -> tuple[float, float, float]:
        """Unit normal of the plane, in A."""
        return self._axis

    def pose(self, q: ca.SX) -> Frame:
        """B moved by (x, y) in the plane and turned about its normal."""
        return Frame(turned(self._axis, q[2]), constant(self._first) * q[0] + constant(self._second) * q[1])

    def subspace(self, q: ca.SX) -> Twist:
        """Two displacements and a rotation."""
        del q
        zero = ca.SX(ca.DM.zeros(3))
        return Twist(
            ca.horzcat(zero, zero, constant(self._axis)),
            ca.horzcat(constant(self._first), constant(self._second), zero),
        )

    def turn(self, q: ca.SX) -> Turn:
        """About the normal."""
        return Turn.hinge(self._axis, q[2])


def _across(axis: tuple[float, float, float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Images of x and y under the shortest rotation of z to the axis; for −z, half a turn about x."""
    a, b, c = axis
    if a == 0.0 and b == 0.0:
        return (1.0, 0.0, 0.0), (0.0, math.copysign(1.0, c), 0.0)
    # k = 1 − c, written so that nothing cancels near ±z.
    across = math.hypot(a, b)
    x, y = a / across, b / across
    k = across * across / (1.0 + c) if c > 0.0 else 1.0 - c
    return (1.0 - x * x * k, -x * y * k, -a), (-x * y * k, 1.0 - y * y * k, -b)
