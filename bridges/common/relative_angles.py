"""Absolute joint angles of a tree of bodies as relative angles between neighbouring bodies.

An angle measured from an axis of the world has a counterpart in other programs only where every rotation on the way to
its joint is about one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...robots.tree import Joint, Planar, Prismatic, Revolute
from ...robots.tree.body import WORLD, Node
from ...robots.tree.tree import Tree
from ...symbolic.errors import BridgeError
from ...symbolic.validation import constant_values

Array = NDArray[np.float64]
PARALLEL_TOLERANCE = 1e-12
"""How far the cosine of an angle may be from ±1 for two axes to be one."""


@dataclass(frozen=True, eq=False)
class SingleAxisRotation:
    """The rotation Rot(axis, rates · q) · start of a body in the world.

    Attributes:
        axis: unit vector in the world; None if nothing turns.
        rates: share of each velocity in the turn, shape (nv,), or (0,) if nothing turns.
        start: rotation where the turn is zero, shape (3, 3).
    """

    axis: Array | None
    rates: Array
    start: Array

    @property
    def turns(self) -> bool:
        """Whether any coordinate turns the body."""
        return bool(np.any(self.rates))

    @property
    def own_axis(self) -> Array:
        """The axis in the body, about which alone it turns, shape (3,); its z axis if it does not turn."""
        return np.array([0.0, 0.0, 1.0]) if self.axis is None else self.start.T @ self.axis

    def along(self, axis: Array) -> float | None:
        """1 or −1 if another axis lies along this one, the same way or against it; None if not.

        Args:
            axis: unit vector in the world.
        """
        cosine = 1.0 if self.axis is None else float(self.axis @ axis)
        return None if abs(abs(cosine) - 1.0) > PARALLEL_TOLERANCE else float(np.sign(cosine))


NO_ROTATION = SingleAxisRotation(None, np.zeros(0), np.eye(3))
"""The world."""


@dataclass(frozen=True, eq=False)
class RelativeAngles:
    """How the joints of a tree are placed and displaced between two bodies, where some are measured from the world.

    Attributes:
        matrix: S of q' = S q and v' = S v, where coordinates are rates, shape (nv, nv), in the places of v.
        rotations: of each joint's frame in that of what carries it, shape (3, 3) each.
        turnings: of each node in the world; None if it turns about several axes.
        are_relative: whether each joint's coordinate is that of the robot, and no difference of two.
    """

    matrix: Array
    rotations: tuple[Array, ...]
    turnings: tuple[SingleAxisRotation | None, ...]
    are_relative: tuple[bool, ...]

    @classmethod
    def of(cls, label: str, tree: Tree, rotations: Sequence[Array]) -> RelativeAngles:
        """Follow the tree from the world outwards.

        Args:
            label: of the robot, for messages.
            tree: of bodies.
            rotations: placements of its joints as numbers, shape (3, 3) each; of those measured from the world's axes,
                in these.

        Raises:
            BridgeError: for a joint that is measured from the world's axes while what carries it turns about another.
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
                        f"{label}: {node.name!r} is measured from the world's axes while what carries it turns about "
                        "another axis: no joint between the two bodies has that coordinate. Build the robot with "
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
    """S of q' = S q for joints of one coordinate: the identity but for angles measured from the world's axes.

    Args:
        robot: any; without a tree of bodies its coordinates are what they are.
        rates: place in v of the rate of each of these coordinates, in the order of S.

    Raises:
        BridgeError: for a joint that is measured from the world's axes while what carries it turns about another.
    """
    tree = robot.tree
    if tree is None or not any(node.absolute and node.parent != WORLD for node in tree.nodes):
        return np.eye(len(rates))
    # Of numbers mostly; what depends on parameters has the directions of the nominal ones.
    placed = ca.horzcat(*(node.placement.rotation for node in tree.nodes))
    numbers = constant_values(placed)
    values = robot.evaluate(ca.densify(placed)) if numbers is None else numbers
    return RelativeAngles.of(robot.name, tree, np.hsplit(values, len(tree.nodes))).matrix[np.ix_(rates, rates)]


def _axis_sign(node: Node, R: Array, above: SingleAxisRotation | None) -> float | None:
    """Sense in which a joint measured from the world turns about the axis of what carries it; None if it does not."""
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
    # An angle from the world's axes is the whole turn by itself.
    return SingleAxisRotation(above.axis, sign * own + (above.rates if is_relative else 0.0), start)
