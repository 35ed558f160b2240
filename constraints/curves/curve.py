"""The abstract curve: functions of position and time that vanish on it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.parameters import Parameters
from ...symbolic.pickling import Picklable

PointLike = Sequence[float] | NDArray[np.float64]
"""Coordinates of a point."""


def axis_names(n: int) -> list[str]:
    """Names of the axes of an n-dimensional space: x, y, z up to three, then x1, x2 and so on."""
    return list("xyz"[:n]) if n <= 3 else [f"x{i + 1}" for i in range(n)]


class Curve(Picklable, ABC):
    """A curve or surface in n dimensions, f₁(x, t) = … = f_k(x, t) = 0, moving or not.

    A path needs k = n − 1 functions, the boundary of an obstacle one. Near the curve each function should be close to a
    signed distance (|∇f| = 1 on f = 0), because margins and approach speeds are measured in it.
    """

    name: str
    """Prefix of its parameters."""

    dimension: int
    """Dimension n of the space that it lies in."""

    parameters: Parameters
    """Its positions, sizes and speeds, as symbols with nominal values."""

    @property
    def smoothness(self) -> float:
        """Largest k for which the curve is C^k; infinite unless a class overrides it.

        0 for a curve with corners, where the normal jumps. 1 if the normal is continuous and the curvature jumps: the
        accelerations of a field along the curve jump there, and so do the forces of a robot that follows it. From 2 on
        these are continuous.
        """
        return math.inf

    @abstractmethod
    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Functions f(x, t), shape (k,), of the position x, shape (n,) [m], and the time t [s].

        For n = 2, with f growing to one side, travel along the curve is along ∇f turned by +90°, as in Erugin's
        structure. For an obstacle f is positive outside.
        """

    def jacobian(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """∂f/∂x at position x and time t, shape (k, n); by automatic differentiation unless known in closed form."""
        position = ca.SX.sym("x", self.dimension)
        return ca.substitute(ca.jacobian(self.functions(position, t), position), position, x)

    def reference(self, t: ca.SX) -> ca.SX | None:
        """Point that represents the curve and moves with it, shape (n,) [m], at time t [s]; None if it has none."""
        return None

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Radius [m] of a ball about the reference that contains the curve at time t [s]; None if there is no ball."""
        return None

    def front_speed(self, t: ca.SX) -> ca.SX | None:
        """Upper bound of the speed at which a boundary moves along its normal at time t [m/s]; None if unknown."""
        x = ca.SX.sym("x", self.dimension)
        return None if ca.depends_on(self.functions(x, t), t) else ca.SX(0)

    def remaining(self, x: ca.SX, t: ca.SX) -> ca.SX | None:
        """Remaining length of a path at time t [m], from the foot of the perpendicular from x to the end.

        Negative beyond the end; None for a path without an end, such as a closed one.
        """
        return None

    def travelled(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX | None] | None:
        """Length of a path at time t from its start to the foot of the perpendicular from x, and that of a closed lap.

        [m] each; None for a curve that does not know its length, and in place of a lap that is not closed.
        """
        return None

    def stations(self, t: ca.SX) -> tuple[ca.SX, ca.SX] | None:
        """Points along a path in the direction of travel at time t [s], near enough for a polygon; None if unknown.

        Returns:
            Their lengths from the start, shape (k,) [m], and positions, shape (n, k) [m].
        """
        return None

    def landmarks(self, t: ca.SX) -> ca.SX | None:
        """Points that show where a path lies, shape (n, k) [m], at time t; None if the path has none."""
        return None
