"""The content of a URDF file: links, joints, limits and inertias, with their line numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

JointType = Literal["fixed", "revolute", "continuous", "prismatic", "planar", "floating"]
Vector = tuple[float, float, float]

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
"""Attributes of ``<inertia>``, and names of parameters."""

ROUNDING = 2.0**-50
"""Magnitude below which entries of a rotation become zero, the rounding error of cos(π/2)."""


@dataclass(frozen=True)
class Pose:
    """Position and orientation of one frame in another.

    Attributes:
        position: position of the origin [m].
        rotation: matrix whose columns are the axes of the frame, shape (3, 3), as rows of numbers.
    """

    position: Vector = (0.0, 0.0, 0.0)
    rotation: tuple[Vector, Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    @classmethod
    def from_angles(cls, position: Vector, roll: float, pitch: float, yaw: float) -> Pose:
        """Build R = R_z(yaw) R_y(pitch) R_x(roll), rotations about fixed axes [rad]."""
        cr, sr = math.cos(roll), math.sin(roll)
        cp, sp = math.cos(pitch), math.sin(pitch)
        cy, sy = math.cos(yaw), math.sin(yaw)
        return cls.from_matrix(
            position,
            np.array(
                [
                    [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                    [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                    [-sp, cp * sr, cp * cr],
                ]
            ),
        )

    @classmethod
    def from_quaternion(cls, position: Vector, x: float, y: float, z: float, w: float) -> Pose:
        """Build the rotation of the quaternion w + x i + y j + z k, which is normalized."""
        norm = math.sqrt(x * x + y * y + z * z + w * w)
        x, y, z, w = x / norm, y / norm, z / norm, w / norm
        return cls.from_matrix(
            position,
            np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            ),
        )

    @classmethod
    def from_matrix(cls, position: Vector, matrix: NDArray[np.float64]) -> Pose:
        """Build a rotation from its matrix, shape (3, 3); entries that are rounding errors become zero."""
        a, b, c = np.where(np.abs(matrix) < ROUNDING, 0.0, matrix).tolist()
        return cls(position, ((a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2])))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The rotation as an array, shape (3, 3)."""
        return np.array(self.rotation)


@dataclass(frozen=True)
class Inertial:
    """Mass, centre of mass and inertia of a link.

    Attributes:
        mass: [kg], not negative.
        origin: centre of mass, and the axes of ``inertia``, in the frame of the link.
        inertia: ixx, ixy, ixz, iyy, iyz, izz about the centre of mass [kg m²].
        line: line number of the element ``<inertia>``.
    """

    mass: float
    origin: Pose
    inertia: tuple[float, float, float, float, float, float]
    line: int

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The inertia as an array in its own axes, shape (3, 3) [kg m²]."""
        xx, xy, xz, yy, yz, zz = self.inertia
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@dataclass(frozen=True)
class Mesh:
    """A file with the shape of a link, which the dynamics do not need.

    Attributes:
        filename: name as written in the URDF file.
        line: line number of the element ``<mesh>``.
        location: file, line and link, for messages.
    """

    filename: str
    line: int
    location: str


@dataclass(frozen=True)
class UrdfLink:
    """A body, or a frame without mass.

    Attributes:
        name: unique among links.
        inertial: None if the link has no mass.
        meshes: files with its shapes.
        line: line number of the element.
    """

    name: str
    inertial: Inertial | None
    meshes: tuple[Mesh, ...]
    line: int


@dataclass(frozen=True)
class JointLimits:
    """Limits of a joint; infinite if not given.

    Attributes:
        lower: least position [rad or m].
        upper: greatest position [rad or m].
        velocity: greatest speed [rad/s or m/s].
        effort: greatest torque or force [N m or N].
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = multiplier · q_joint + offset.

    Attributes:
        joint: name of the joint that is followed.
        multiplier: ratio.
        offset: [rad or m].
        line: line number of the element ``<mimic>``.
    """

    joint: str
    multiplier: float
    offset: float
    line: int


@dataclass(frozen=True)
class UrdfJoint:
    """A joint between a link and its parent.

    Attributes:
        name: unique among joints.
        type: type of the joint, which determines its motion.
        parent: name of a link.
        child: name of a link.
        origin: frame of the joint, and of the child at position zero, in the frame of the parent.
        axis: unit vector in the frame of the joint: axis of rotation, direction of sliding, or normal of the plane.
        limits: of position, velocity and effort.
        damping: viscous friction [N m s/rad or N s/m]; None if not given.
        friction: dry friction [N m or N]; None if not given.
        mimic: None unless it follows another joint.
        line: line number of the element.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose
    axis: Vector
    limits: JointLimits
    damping: float | None
    friction: float | None
    mimic: Mimic | None
    line: int


@dataclass(frozen=True)
class Description:
    """A tree of links and joints.

    Attributes:
        name: name of the robot.
        file: path of the file.
        links: links by name, in the order of the file.
        joints: joints by name, in the order of the file.
        root: name of the link without a parent.
        remarks: messages about suspicious parts of the file that were accepted.
    """

    name: str
    file: str
    links: Mapping[str, UrdfLink]
    joints: Mapping[str, UrdfJoint]
    root: str
    remarks: tuple[str, ...]
