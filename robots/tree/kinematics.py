"""Kinematics of a tree in world axes: poses, velocities, and accelerations at a = 0."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from ..frame import Frame
from ..spatial import Arm, SpatialInertia, Twist, axis_rotation, cross
from .body import Body
from .joints import Node, Revolute


@dataclass(frozen=True, eq=False)
class MovingFrame:
    """A node's frame, or a body, moved by one joint.

    Attributes:
        frame: pose in the world.
        arm: arm from the origin of the parent's frame, which transmits the parent's motion.
        subspace: S in world axes, for its origin, one column for each velocity of the joint.
        axes: rotation of the frame in which the joint is placed, shape (3, 3).
    """

    frame: Frame
    arm: Arm
    subspace: Twist
    axes: ca.SX


@dataclass(frozen=True, eq=False)
class _HingeRotation:
    """A rotation start · Rot(axis, angle): the angles of parallel hinges are added instead of multiplying matrices."""

    start: ca.SX
    axis: tuple[float, float, float]
    angle: ca.SX


class TreeKinematics:
    """Kinematics of a tree in world axes, each expression built once.

    Attributes:
        joints: the nodes of the tree.
        q: the coordinates of each node.
        rates: the velocities of each node.
        nodes: the frame of each node.
        bodies: for each node, the bodies that its joint moves, each with its frame.
    """

    def __init__(self, joints: Sequence[Node], q: Sequence[ca.SX], rates: Sequence[ca.SX]) -> None:
        """Build poses and subspaces.

        Args:
            joints: the nodes of the tree, parents first.
            q: the coordinates of each node.
            rates: the velocities of each node.
        """
        self.joints, self.q, self.rates = joints, q, rates
        self.nodes: list[MovingFrame] = []
        self.bodies: list[list[tuple[Body, MovingFrame]]] = []
        turns: list[_HingeRotation | None] = []
        for node, own_q in zip(joints, q, strict=True):
            parent = None if node.parent < 0 else self.nodes[node.parent]
            follows = parent is not None and not node.absolute
            base = _joint_frame(node, parent, follows)
            turn = turns[node.parent] if follows and _identity(node.placement.rotation) else None
            frame, turn = _node_frame(base, node, own_q, turn)
            turns.append(turn)
            own = _moving_frame(base, frame, parent, follows, node.joint.subspace(own_q))
            self.nodes.append(own)
            carried: list[tuple[Body, MovingFrame]] = []
            for body in node.bodies:
                if body.ratio is None:
                    carried.append((body, own))
                else:
                    pose, subspace = node.joint.fraction(body.ratio, own_q)
                    at = Frame(base.rotation, base.point(pose.position)) if _identity(pose.rotation) else base @ pose
                    carried.append((body, _moving_frame(base, at, parent, follows, subspace)))
            self.bodies.append(carried)

    @functools.cached_property
    def is_planar(self) -> bool:
        """True if all joints rotate about the z axis or slide in the plane normal to it."""
        subspaces = [mover.subspace for mover in self.nodes]
        return all(twist.angular[:2, :].is_zero() and twist.linear[2, :].is_zero() for twist in subspaces)

    @functools.cached_property
    def velocities(self) -> list[Twist]:
        """ω and the velocity of the origin, of each node, in world axes."""
        velocities: list[Twist] = []
        for k, node in enumerate(self.joints):
            velocities.append(self._velocity(k, self.nodes[k], None if node.parent < 0 else velocities[node.parent]))
        return velocities

    def velocity(self, k: int, carried: MovingFrame) -> Twist:
        """Return ω and the velocity of the origin of a frame moved by node k's joint."""
        if carried is self.nodes[k]:
            return self.velocities[k]
        parent = self.joints[k].parent
        return self._velocity(k, carried, None if parent < 0 else self.velocities[parent])

    @functools.cached_property
    def bias_accelerations(self) -> list[Twist]:
        """ω̇ and the acceleration of the origin of each node at a = 0, in world axes, without gravity."""
        biases: list[Twist] = []
        for k, node in enumerate(self.joints):
            biases.append(self._bias_acceleration(k, self.nodes[k], None if node.parent < 0 else biases[node.parent]))
        return biases

    def bias_acceleration(self, k: int, carried: MovingFrame) -> Twist:
        """Return ω̇ and the acceleration of the origin, at a = 0, of a frame moved by node k's joint."""
        if carried is self.nodes[k]:
            return self.bias_accelerations[k]
        parent = self.joints[k].parent
        return self._bias_acceleration(k, carried, None if parent < 0 else self.bias_accelerations[parent])

    @functools.cached_property
    def inertias(self) -> list[tuple[SpatialInertia, list[tuple[MovingFrame, SpatialInertia]]]]:
        """For each node, the inertia fixed in its frame, and that of each body moved by a fraction of its joint."""
        inertias: list[tuple[SpatialInertia, list[tuple[MovingFrame, SpatialInertia]]]] = []
        for node, carried in zip(self.nodes, self.bodies, strict=True):
            own, shared = SpatialInertia.zero(), list[tuple[MovingFrame, SpatialInertia]]()
            for body, mover in carried:
                inertia = world_inertia(body, mover)
                if mover is node:
                    own = own + inertia
                else:
                    shared.append((mover, inertia))
            inertias.append((own, shared))
        return inertias

    def _velocity(self, k: int, carried: MovingFrame, parent: Twist | None) -> Twist:
        own = carried.subspace @ self.rates[k]
        return own if parent is None else carried.arm.outward(parent) + own

    def _bias_acceleration(self, k: int, carried: MovingFrame, parent: Twist | None) -> Twist:
        node, v = self.joints[k], self.rates[k]
        rate = node.joint.subspace_rate(self.q[k], v)
        own = Twist(carried.axes @ rate.angular, carried.axes @ rate.linear)
        if parent is None:
            return own
        turning = self.velocities[node.parent].angular
        linear = cross(turning, cross(turning, carried.arm.reach))
        if not carried.arm.turns:
            return carried.arm.outward(parent) + own + Twist(ca.SX(ca.DM.zeros(3)), linear)
        relative = carried.subspace @ v
        coriolis = Twist(cross(turning, relative.angular), linear + 2 * cross(turning, relative.linear))
        return carried.arm.outward(parent) + own + coriolis


def world_inertia(body: Body, mover: MovingFrame) -> SpatialInertia:
    """Return the inertia of a body about the origin of its frame, in world axes."""
    R = mover.frame.rotation
    return SpatialInertia.rigid(body.mass, R @ body.center, R @ body.inertia @ R.T)


def _identity(rotation: ca.SX) -> bool:
    return ca.sparsify(rotation).is_eye()


def _joint_frame(node: Node, parent: MovingFrame | None, follows: bool) -> Frame:
    """Return the pose of the frame in which the node's joint is placed."""
    if parent is None:
        return node.placement
    position = parent.frame.point(node.placement.position)
    if not follows:
        return Frame(node.placement.rotation, position)
    if _identity(node.placement.rotation):
        return Frame(parent.frame.rotation, position)
    return Frame(parent.frame.rotation @ node.placement.rotation, position)


def _node_frame(base: Frame, node: Node, q: ca.SX, turn: _HingeRotation | None) -> tuple[Frame, _HingeRotation | None]:
    """Return the pose of the node's frame, and its rotation as one angle if possible."""
    if isinstance(node.joint, Revolute):
        axis = node.joint.axis
        if turn is not None and turn.axis == axis:
            turn = _HingeRotation(turn.start, axis, turn.angle + q)
        else:
            turn = _HingeRotation(base.rotation, axis, q)
        return Frame(turn.start @ axis_rotation(axis, turn.angle), base.position), turn
    pose = node.joint.pose(q)
    if _identity(pose.rotation):
        return Frame(base.rotation, base.point(pose.position)), turn
    return base @ pose, None


def _moving_frame(base: Frame, frame: Frame, parent: MovingFrame | None, follows: bool, subspace: Twist) -> MovingFrame:
    # If a joint's axes keep the world's orientation, the parent's rotation does not change its displacement.
    end = frame.position if follows else base.position
    reach = ca.SX(ca.DM.zeros(3)) if parent is None else end - parent.frame.position
    world = Twist(base.rotation @ subspace.angular, base.rotation @ subspace.linear)
    return MovingFrame(frame, Arm(reach, follows), world, base.rotation)
