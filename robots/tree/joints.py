"""Joints, the possible motions of one frame in another, and the nodes of a tree, each attached by one joint."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ...symbolic.errors import ModelError, require_name
from ...symbolic.validation import finite, format_value
from ..frame import Frame
from ..spatial import BodyRotation, Twist, axis_rotation, cross
from .body import Body


class Joint(ABC):
    """Position of B in A from coordinates q, and its velocity from joint velocities v with q̇ = N(q) v.

    The twist of B in A, in the axes of A and for the origin of B, is S(q) v.
    """

    units: tuple[str, ...]
    """Unit of each coordinate; nq of them."""

    nv: int
    """Number of velocities."""

    suffixes: tuple[str, ...]
    """Suffix of each coordinate's name; nq of them, empty for a joint with one coordinate."""

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.units)

    @property
    def input_units(self) -> tuple[str, ...]:
        """Unit of the generalized force of each velocity; nv of them."""
        return tuple("N" if unit == "m" else "N m" for unit in self.velocity_units)

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Unit of the displacement whose rate each velocity is; nv of them."""
        return self.units

    @abstractmethod
    def pose(self, q: ca.SX) -> Frame:
        """Return the pose of B in A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """

    @abstractmethod
    def subspace(self, q: ca.SX) -> Twist:
        """Return S, of nv columns, in the axes of A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """

    def turn(self, q: ca.SX) -> BodyRotation:
        """Return the rotation of B in A.

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        return BodyRotation(self.pose(q).rotation)

    def own_subspace(self, q: ca.SX) -> Twist:
        """Return S in the axes of B.

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        return self.turn(q).outward(self.subspace(q))

    def subspace_rate(self, q: ca.SX, v: ca.SX) -> Twist:
        """Return Ṡ v, one column, in fixed axes of A; zero for a constant S.

        Args:
            q: coordinates of the joint, shape (nq,).
            v: velocities of the joint, shape (nv,).
        """
        del q, v
        return Twist.zero()

    def kinematics(self, q: ca.SX) -> ca.SX:
        """Return N of q̇ = N v, shape (nq, nv).

        Args:
            q: coordinates of the joint, shape (nq,).
        """
        del q
        return ca.SX(ca.DM.eye(self.nv))

    def neutral(self) -> tuple[float, ...]:
        """Return the coordinates at which B coincides with A; nq of them."""
        return (0.0,) * self.nq

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Return pose and subspace of a body that moves by a fraction of the joint's displacement.

        Args:
            ratio: the fraction; 1 is B itself.
            q: coordinates of the joint, shape (nq,).

        Raises:
            ModelError: if the displacement of the joint is not a single number.
        """
        raise ModelError(f"a body with ratio= requires a Revolute or a Prismatic joint, got {type(self).__name__}")


def unit_axis(name: str, axis: Sequence[float]) -> tuple[float, float, float]:
    """Return ``axis`` as a unit vector; raises ModelError unless it is three finite numbers, not all zero.

    An axis that is a unit vector to rounding is returned unchanged, so that (0, 0, 1) stays exact.
    """
    try:
        numbers = tuple(finite(f"{name}[{i}]", x) for i, x in enumerate(axis))
    except TypeError as error:
        raise ModelError(f"{name} must be three numbers, got {axis!r}") from error
    if len(numbers) != 3:
        raise ModelError(f"{name} must have three components, got {axis!r}")
    largest = max(map(abs, numbers))
    if largest == 0.0:
        raise ModelError(f"{name} must not be zero, got {axis!r}")
    # Divided first by the largest, so that no square overflows or vanishes.
    scaled = tuple(x / largest for x in numbers)
    length = math.hypot(*scaled)
    x, y, z = numbers if abs(length * largest - 1.0) < 1e-15 else tuple(s / length for s in scaled)
    return x, y, z


def constant_column(values: Sequence[float]) -> ca.SX:
    """Return a column of numbers."""
    return ca.SX(ca.densify(ca.DM(list(values))))


class Floating(Joint):
    """q = (x, y, z, qx, qy, qz, qw), a position and a unit quaternion; v = (linear, angular) velocity in the axes of B.

    The order is that of Pinocchio and ROS, with the scalar last; ``quaternion_body`` of the examples has it first.
    q̇ = N(q) v preserves the quaternion's length; the rotation is that of the normalized quaternion, so that rounding
    errors of an integrator do not deform the body.
    """

    units = ("m", "m", "m", "", "", "", "")
    nv = 6
    suffixes = (".x", ".y", ".z", ".qx", ".qy", ".qz", ".qw")

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Three lengths and three angles."""
        return ("m",) * 3 + ("rad",) * 3

    def pose(self, q: ca.SX) -> Frame:
        """Return B at (x, y, z), rotated by the quaternion."""
        return Frame(quaternion_rotation(q[3:7]), q[:3])

    def subspace(self, q: ca.SX) -> Twist:
        """Return the axes of B, for both halves."""
        R = quaternion_rotation(q[3:7])
        zero = ca.SX(ca.DM.zeros(3, 3))
        return Twist(ca.horzcat(zero, R), ca.horzcat(R, zero))

    def own_subspace(self, q: ca.SX) -> Twist:
        """Return unit vectors, for both halves."""
        del q
        zero, one = ca.SX(ca.DM.zeros(3, 3)), ca.SX(ca.DM.eye(3))
        return Twist(ca.horzcat(zero, one), ca.horzcat(one, zero))

    def subspace_rate(self, q: ca.SX, v: ca.SX) -> Twist:
        """Return Ṡ v = (0; R (ω × v)), because the axes of B rotate with ω."""
        R = quaternion_rotation(q[3:7])
        return Twist(ca.SX(ca.DM.zeros(3)), R @ cross(v[3:6], v[:3]))

    def kinematics(self, q: ca.SX) -> ca.SX:
        """Return N of ẋ = R v and e' = ½ e ∘ (ω, 0)."""
        x, y, z, w = q[3], q[4], q[5], q[6]
        half = (
            ca.vertcat(
                ca.horzcat(w, -z, y),
                ca.horzcat(z, w, -x),
                ca.horzcat(-y, x, w),
                ca.horzcat(-x, -y, -z),
            )
            / 2
        )
        return ca.vertcat(
            ca.horzcat(quaternion_rotation(q[3:7]), ca.SX(ca.DM.zeros(3, 3))),
            ca.horzcat(ca.SX(ca.DM.zeros(4, 3)), half),
        )

    def neutral(self) -> tuple[float, ...]:
        """Return the origin without rotation: the quaternion (0, 0, 0, 1)."""
        return (0.0,) * 6 + (1.0,)


def quaternion_rotation(e: ca.SX) -> ca.SX:
    """Return the rotation of the quaternion (x, y, z, w) divided by its length, shape (3, 3)."""
    x, y, z, w = e[0], e[1], e[2], e[3]
    s = 2 / ca.sumsqr(e)
    return ca.vertcat(
        ca.horzcat(1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        ca.horzcat(s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        ca.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )


class Planar(Joint):
    """q = (x, y, angle): displacement in the plane across an axis, then rotation about it; v = q̇.

    The directions x and y are those of A after the shortest rotation of its z axis to the given one.
    """

    units = ("m", "m", "rad")
    nv = 3
    suffixes = (".x", ".y", ".angle")

    def __init__(self, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> None:
        """Fix the normal of the plane.

        Args:
            axis: normal in A, normalized; z if not given.

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
        """Return B displaced by (x, y) in the plane and rotated about its normal."""
        return Frame(
            axis_rotation(self._axis, q[2]), constant_column(self._first) * q[0] + constant_column(self._second) * q[1]
        )

    def subspace(self, q: ca.SX) -> Twist:
        """Return two displacements and a rotation."""
        del q
        zero = ca.SX(ca.DM.zeros(3))
        return Twist(
            ca.horzcat(zero, zero, constant_column(self._axis)),
            ca.horzcat(constant_column(self._first), constant_column(self._second), zero),
        )

    def turn(self, q: ca.SX) -> BodyRotation:
        """Return the rotation about the normal."""
        return BodyRotation.hinge(self._axis, q[2])


def _across(axis: tuple[float, float, float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the images of x and y under the shortest rotation of z to the axis; for −z, half a turn about x."""
    a, b, c = axis
    if a == 0.0 and b == 0.0:
        return (1.0, 0.0, 0.0), (0.0, math.copysign(1.0, c), 0.0)
    # k = 1 − c, written without cancellation near ±z.
    across = math.hypot(a, b)
    x, y = a / across, b / across
    k = across * across / (1.0 + c) if c > 0.0 else 1.0 - c
    return (1.0 - x * x * k, -x * y * k, -a), (-x * y * k, 1.0 - y * y * k, -b)


class Prismatic(Joint):
    """Displacement by a length q along a fixed axis."""

    units = ("m",)
    nv = 1
    suffixes = ("",)

    def __init__(self, axis: Sequence[float] = (1.0, 0.0, 0.0)) -> None:
        """Fix the axis.

        Args:
            axis: direction in A, normalized; x if not given.

        Raises:
            ModelError: for an axis of length zero.
        """
        self._axis = unit_axis("axis of a prismatic joint", axis)

    @property
    def axis(self) -> tuple[float, float, float]:
        """Unit vector in A along which B slides."""
        return self._axis

    def pose(self, q: ca.SX) -> Frame:
        """Return B displaced by q along the axis."""
        return Frame(ca.SX(ca.DM.eye(3)), constant_column(self._axis) * q)

    def subspace(self, q: ca.SX) -> Twist:
        """Return (0; axis)."""
        del q
        return Twist(ca.SX(ca.DM.zeros(3)), constant_column(self._axis))

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Return the displacement by a fraction of the length."""
        return self.pose(ratio * q), self.subspace(q) @ ratio


class Revolute(Joint):
    """Rotation by an angle q about a fixed axis; URDF's revolute and continuous joints."""

    units = ("rad",)
    nv = 1
    suffixes = ("",)

    def __init__(self, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> None:
        """Fix the axis.

        Args:
            axis: direction in A, normalized; z if not given.

        Raises:
            ModelError: for an axis of length zero.
        """
        self._axis = unit_axis("axis of a revolute joint", axis)

    @property
    def axis(self) -> tuple[float, float, float]:
        """Unit vector in A about which B rotates."""
        return self._axis

    def pose(self, q: ca.SX) -> Frame:
        """Return B rotated by q about the axis."""
        return Frame(axis_rotation(self._axis, q), ca.SX(ca.DM.zeros(3)))

    def subspace(self, q: ca.SX) -> Twist:
        """Return (axis; 0)."""
        del q
        return Twist(constant_column(self._axis), ca.SX(ca.DM.zeros(3)))

    def turn(self, q: ca.SX) -> BodyRotation:
        """Return the rotation about the axis."""
        return BodyRotation.hinge(self._axis, q)

    def own_subspace(self, q: ca.SX) -> Twist:
        """Return (axis; 0), which the rotation does not change."""
        return self.subspace(q)

    def fraction(self, ratio: ca.SX, q: ca.SX) -> tuple[Frame, Twist]:
        """Return the rotation by a fraction of the angle."""
        return self.pose(ratio * q), self.subspace(q) @ ratio


WORLD = -1
"""Parent of a node attached to the world."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A frame attached to its parent by one joint, and the bodies that it carries.

    Attributes:
        name: name of the joint; prefix of the coordinate names.
        parent: index of the parent in the tree, or ``WORLD``.
        placement: pose of the joint in the parent's frame.
        joint: motion of the node's frame relative to the placed joint.
        bodies: bodies that it carries; empty for a frame between two joints.
        absolute: True if the orientation is measured from the axes of the world, not of the parent.
    """

    name: str
    parent: int
    placement: Frame
    joint: Joint
    bodies: tuple[Body, ...] = ()
    absolute: bool = False

    def __post_init__(self) -> None:
        """Check the name and the types."""
        require_name("a joint", self.name)
        for name, kind in (("placement", Frame), ("joint", Joint)):
            if not isinstance(getattr(self, name), kind):
                raise ModelError(
                    f"{name} of {self.name!r} must be a {kind.__name__}, got {format_value(getattr(self, name))}"
                )
