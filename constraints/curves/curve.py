"""The abstract curve: functions of place and time that vanish on it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import casadi as ca

from ...symbolic.parameters import Parameters
from ...symbolic.pickling import Picklable


class Curve(Picklable, ABC):
    """A curve or surface in n dimensions, f₁(x, t) = … = f_k(x, t) = 0, moving or not.

    A path needs k = n − 1 functions, the boundary of an obstacle one. Near the curve each function should be close to a
    signed distance (|∇f| = 1 on f = 0), because margins and approach speeds are measured in it.
    """

    name: str
    """Prefix of its parameters."""

    dimension: int
    """Number n of coordinates of the space that it lies in."""

    parameters: Parameters
    """Its places, sizes and speeds, as symbols with nominal values."""

    @property
    def smoothness(self) -> float:
        """The largest k for which the curve is C^k; infinite for an analytic one, and unless a class knows better.

        0 for a curve with corners, where the normal jumps. 1 where the normal turns continuously and the curvature
        jumps: a field along the curve has accelerations, and a robot that follows it has forces, that jump there.
        From 2 on these are continuous.
        """
        return math.inf

    @abstractmethod
    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The functions f(x, t), shape (k,), of a place x, shape (n,) [m], and the time t [s].

        For n = 2, with f growing to one side, travel along the curve is along ∇f turned by +90°, as in Erugin's
        structure. For an obstacle f is positive outside.
        """

    def jacobian(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """∂f/∂x at place x and time t, shape (k, n); by automatic differentiation unless known in closed form."""
        place = ca.SX.sym("x", self.dimension)
        return ca.substitute(ca.jacobian(self.functions(place, t), place), place, x)

    def reference(self, t: ca.SX) -> ca.SX | None:
        """A point that represents the curve and moves with it, shape (n,) [m], at time t [s]; None if it has none."""
        return None

    def extent(self, t: ca.SX) -> ca.SX | None:
        """Radius [m] of a ball about the reference that contains the curve at time t [s]; None if no ball does."""
        return None

    def front_speed(self, t: ca.SX) -> ca.SX | None:
        """A bound of the speed at which a boundary moves along its normal at time t [m/s]; None if none is known."""
        x = ca.SX.sym("x", self.dimension)
        return None if ca.depends_on(self.functions(x, t), t) else ca.SX(0)

    def remaining(self, x: ca.SX, t: ca.SX) -> ca.SX | None:
        """Way along a path that is left from the foot of the perpendicular from x to its end at time t [m].

        Negative beyond the end; None for a path without an end, such as a closed one.
        """
        return None

    def landmarks(self, t: ca.SX) -> ca.SX | None:
        """Places on a path that tell where it lies, shape (n, k) [m], at time t; None if it knows of none."""
        return None
