"""Absolute joint angles of a tree of bodies as relative angles between neighbouring bodies.

An angle measured from an axis of the world can be expressed between two bodies only if all rotations between the world
and its joint are about one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...robots.tree import Joint, Planar, Prismatic, Revolute
from ...robots.tree.joints import WORLD, Node
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError
from ...symbolic.validation import constant_values

Array = NDArray[np.float64]
PARALLEL_TOLERANCE = 1e-12
"""Largest difference from ±1 of the cosine of the angle between two axes that count as parallel."""


@dataclass(frozen=True, eq=False)
class SingleAxisRotation:
    """The rotation Rot(axis, rates · q) · start of a body in the world.

    Attributes:
        axis: unit vector in the world; None if nothing turns.
        rates: coefficient of each velocity in the angular velocity, shape (nv,), or (0,) if nothing turns.
        start: rotation at the angle zero, shape (3, 3).
    """

    axis: Array | None
    rates: Array
    start: Array

    @property
    def turns(self) -> bool:
        """True if any coordinate turns the body."""
        return bool(np.any(self.rates))

    @property
    def own_axis(self) -> Array:
        """The axis of rotation in the body's frame, shape (3,); its z axis if the body does not turn."""
        return np.array([0.0, 0.0, 1.0]) if self.axis is None else self.start.T @ self.axis

    def along(self, axis: Array) -> float | None:
        """Sign of another axis relative to this one, 1 or −1; None if they are not parallel.

        Args:
            axis: unit vector in the world.
        """
        cosine = 1.0 if self.axis is None else float(self.axis @ axis)
        return None if abs(abs(cosine) - 1.0) > PARALLEL_TOLERANCE else float(np.sign(cosine))


NO_ROTATION = SingleAxisRotation(None, np.zeros(0), np.eye(3))
"""Rotation of the world."""


@dataclass(frozen=True, eq=False)
class RelativeAngles:
    """Placements and displacements of joints between two bodies, for a tree with angles measured from the world.

    Attributes:
        matrix: S of v' = S v, and of q' = S q for joints whose velocities are rates, shape (nv, nv), in the order of v.
        rotations: rotation of each joint's frame in the frame of its parent, shape (3, 3) each.
        turnings: rotation of each node in the world; None if it turns about several axes.
        are_relative: for each joint, True if its coordinate is that of the robot, not a difference of two.
    """

    matrix: Array
    rotations: tuple[Array, ...]
    turnings: tuple[SingleAxisRotation | None, ...]
    are_relative: tuple[bool, ...]

    @classmethod
    def of(cls, label: str, tree: Tree, rotations: Sequence[Array]) -> RelativeAngles:
        """Compute the relative angles of a tree.

        Args:
            label: name of the robot, for messages.
            tree: the tree of bodies.
            rotations: numerical rotations of its joints, shape (3, 3) each, in the frame of the parent, or of the world
                for joints measured from the world's axes.

        Raises:
            BridgeError: for a joint that is measured from the world's axes while its parent turns about another axis.
        """
        S = np.eye(tree.coordinates.nv)
        placed: list[Array] = []
        turnings: list[SingleAxisRotation | None] = []
        relative: list[bool] = []
        for k, (node, R) in enumerate(zip(tree.nodes, rotations, strict=True)):
            above, at_v, is_relative = (
                NO_ROTATION if node.parent == WORLD else turnings[node.parent],
                tree.velocity_indices[k][0],
                True,
            )
            if node.absolute and node.parent != WORLD:
                sign = _axis_sign(node, R, above)
                if above is None or sign is None:
                    raise BridgeError(
                        f"{label}: {node.name!r} is measured from the world's axes while its parent turns about "
                        "another axis, so no joint between the two bodies has this coordinate. Build the robot with "
                        "relative angles"
                    )
                if above.turns:
                    S[at_v] -= sign * above.rates
                    is_relative = False
                R = above.start.T @ R
            placed.append(R)
            turnings.append(_rotation_after(node.joint, R, above, at_v, S[at_v], is_relative))
            relative.append(is_relative)
        return cls(S, tuple(placed), tuple(turnings), tuple(relative))


def relative_angle_matrix(robot: Robot, rates: Sequence[int]) -> Array:
    """S of q' = S q for joints of one coordinate: the identity except for angles measured from the world's axes.

    Args:
        robot: the robot; without a tree of bodies S is the identity.
        rates: index in v of the rate of each of these coordinates, in the order of S.

    Raises:
        BridgeError: for a joint that is measured from the world's axes while its parent turns about another axis.
    """
    tree = robot.tree
    if tree is None or not any(node.absolute and node.parent != WORLD for node in tree.nodes):
        return np.eye(len(rates))
    # Mostly constant; directions that depend on parameters are evaluated at their nominal values.
    placed = ca.horzcat(*(node.placement.rotation for node in tree.nodes))
    numbers = constant_values(placed)
    values = robot.evaluate(ca.densify(placed)) if numbers is None else numbers
    return RelativeAngles.of(robot.name, tree, np.hsplit(values, len(tree.nodes))).matrix[np.ix_(rates, rates)]


def _axis_sign(node: Node, R: Array, above: SingleAxisRotation | None) -> float | None:
    """Sign of the axis of a joint measured from the world relative to its parent's axis; None if not parallel."""
    if above is None or not above.turns:
        return None if above is None else 1.0
    return above.along(R @ np.array(node.joint.axis)) if isinstance(node.joint, Revolute) else None


def _rotation_after(
    joint: Joint, R: Array, above: SingleAxisRotation | None, at_v: int, row: Array, is_relative: bool
) -> SingleAxisRotation | None:
    if above is None or not isinstance(joint, Revolute | Prismatic | Planar):
        return None
    start = above.start @ R
    if isinstance(joint, Prismatic):
        return SingleAxisRotation(above.axis, above.rates, start)
    own = np.zeros_like(row)
    own[at_v if isinstance(joint, Revolute) else at_v + 2] = 1.0
    axis = start @ np.array(joint.axis)
    if above.axis is None or not above.turns:
        return SingleAxisRotation(axis, own, start)
    sign = above.along(axis)
    if sign is None:
        return None
    # An angle measured from the world's axes is the total angle.
    return SingleAxisRotation(above.axis, sign * own + (above.rates if is_relative else 0.0), start)
