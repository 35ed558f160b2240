"""The abstract joint: how a frame B moves in the frame A in which it is placed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import casadi as ca

from ...symbolic.arrays import finite
from ...symbolic.errors import ModelError
from ..frame import Frame
from ..spatial import Twist
from ..turn import Turn


class Joint(ABC):
    """Position of B in A from coordinates q, and its velocity from joint velocities v with q̇ = N(q) v.

    The twist of B in A, in the axes of A and for the origin of B, is S(q) v.
    """

    units: tuple[str, ...]
    """Unit of each coordinate; nq of them."""

    nv: int
    """Number of velocities."""

    suffixes: tuple[str, ...]
    """Endings that tell the coordinates' names apart; nq of them, one empty one if there is one coordinate."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.units)

    @property
    def input_units(self) -> tuple[str, ...]:
        """Unit of the force that goes with each velocity; nv of them."""
        return tuple("N" if unit == "m" else "N m" for unit in self.velocity_units)

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Unit of what each velocity is the rate of; nv of them."""
        return self.units

    @abstractmethod
    def pose(self, q: ca.SX) -> Frame:
        """Pose of B in A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """

    @abstractmethod
    def subspace(self, q: ca.SX) -> Twist:
        """S, of nv columns, in the axes of A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """

    def turn(self, q: ca.SX) -> Turn:
        """Rotation of B in A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        return Turn(self.pose(q).rotation)

    def own_subspace(self, q: ca.SX) -> Twist:
        """S in the axes of B.

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        return self.turn(q).outward(self.subspace(q))

    def subspace_rate(self, q: ca.SX, v: ca.SX) -> Twist:
        """Ṡ v, one column, with the axes of A held fixed; zero for a constant S.

        Args:
            q: coordinates of the joint, shape (nq,).
            v: velocities of the joint, shape (nv,).
        """
        del q, v
        return Twist.zero()

    def kinematics(self, q: ca.SX) -> ca.SX:
        """N of q̇ = N v, shape (nq, nv).

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        del q
        return ca.SX(ca.DM.eye(self.nv))

    def neutral(self) -> tuple[float, ...]:
        """Coordinates at which B coincides with A; nq of them."""
        return (0.0,) * self.nq

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Pose and subspace of what is carried along by a share of the joint's displacement.

        Args:
            ratio: the share; 1 is B itself.
            q: coordinates of the joint, shape (nq,).

        Raises:
            ModelError: if the joint has no displacement that could be divided.
        """
        raise ModelError(f"a mass cannot be carried by a share of {type(self).__name__}: use a Revolute or a Prismatic")


def unit_axis(what: str, axis: Sequence[float]) -> tuple[float, float, float]:
    """``axis`` as a unit vector of three numbers; raises ModelError for one that is zero, not finite or not of three.

    An axis that is a unit vector to rounding is kept as it is, so that (0, 0, 1) stays exact.
    """
    try:
        numbers = tuple(finite(f"{what}[{i}]", x) for i, x in enumerate(axis))
    except TypeError as error:
        raise ModelError(f"{what} must be three numbers, got {axis!r}") from error
    if len(numbers) != 3:
        raise ModelError(f"{what} must have three components, got {axis!r}")
    largest = max(map(abs, numbers))
    if largest == 0.0:
        raise ModelError(f"{what} must not be zero, got {axis!r}")
    # Divided first by the largest, so that no square overflows or vanishes.
    scaled = tuple(x / largest for x in numbers)
    length = math.hypot(*scaled)
    x, y, z = numbers if abs(length * largest - 1.0) < 1e-15 else tuple(s / length for s in scaled)
    return x, y, z


def constant(values: Sequence[float]) -> ca.SX:
    """A column of numbers."""
    return ca.SX(ca.densify(ca.DM(list(values))))
