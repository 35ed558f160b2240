"""Free motion in space."""

from __future__ import annotations

import casadi as ca

from ..frame import Frame
from ..spatial import Twist, cross
from .joint import Joint


class Floating(Joint):
    """q = (x, y, z, qx, qy, qz, qw), a place and a unit quaternion; v = (linear, angular) velocity in the axes of B.

    The order is Pinocchio's and ROS's, with the scalar last; ``quaternion_body`` of the examples has it first.
    q̇ = N(q) v keeps the quaternion's length; the rotation is that of the quaternion divided by its length, so that
    rounding errors of an integrator do not become a deformation.
    """

    units = ("m", "m", "m", "", "", "", "")
    nv = 6
    suffixes = (".x", ".y", ".z", ".qx", ".qy", ".qz", ".qw")

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Three lengths and three angles."""
        return ("m",) * 3 + ("rad",) * 3

    def pose(self, q: ca.SX) -> Frame:
        """B at (x, y, z), turned by the quaternion."""
        return Frame(quaternion_rotation(q[3:7]), q[:3])

    def subspace(self, q: ca.SX) -> Twist:
        """The axes of B, for both halves."""
        R = quaternion_rotation(q[3:7])
        zero = ca.SX(ca.DM.zeros(3, 3))
        return Twist(ca.horzcat(zero, R), ca.horzcat(R, zero))

    def own_subspace(self, q: ca.SX) -> Twist:
        """Unit vectors, for both halves."""
        del q
        zero, one = ca.SX(ca.DM.zeros(3, 3)), ca.SX(ca.DM.eye(3))
        return Twist(ca.horzcat(zero, one), ca.horzcat(one, zero))

    def subspace_rate(self, q: ca.SX, v: ca.SX) -> Twist:
        """Ṡ v = (0; R (ω × v)): the axes of B turn with ω, which turns nothing of ω itself."""
        R = quaternion_rotation(q[3:7])
        return Twist(ca.SX(ca.DM.zeros(3)), R @ cross(v[3:6], v[:3]))

    def kinematics(self, q: ca.SX) -> ca.SX:
        """ẋ = R v and e' = ½ e ∘ (ω, 0)."""
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
        """At the origin, not turned: the quaternion (0, 0, 0, 1)."""
        return (0.0,) * 6 + (1.0,)


def quaternion_rotation(e: ca.SX) -> ca.SX:
    """Rotation of the quaternion (x, y, z, w) divided by its length, shape (3, 3)."""
    x, y, z, w = e[0], e[1], e[2], e[3]
    s = 2 / ca.sumsqr(e)
    return ca.vertcat(
        ca.horzcat(1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        ca.horzcat(s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        ca.horzcat(s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )
