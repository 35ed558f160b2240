"""Kinematics of a tree: where everything is, how it moves, and what of its acceleration does not need a."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from .frame import Frame
from .joints import Revolute
from .spatial import Arm, SpatialInertia, Twist, cross
from .turn import turned

if TYPE_CHECKING:
    from .tree import Body, Node, Tree


@dataclass(frozen=True, eq=False)
class Carried:
    """A node's frame, or a body, as it is moved by one joint.

    Attributes:
        frame: its pose in the world.
        arm: from the origin of the parent's frame; how the parent's motion reaches it.
        subspace: S in world axes, for its origin, of as many columns as the joint has velocities.
        axes: rotation of the frame in which the joint is placed, shape (3, 3).
    """

    frame: Frame
    arm: Arm
    subspace: Twist
    axes: ca.SX


@dataclass(frozen=True, eq=False)
class _Turn:
    """A rotation start · Rot(axis, angle): angles of parallel hinges are added, not their matrices multiplied."""

    start: ca.SX
    axis: tuple[float, float, float]
    angle: ca.SX


class Motion:
    """Expressions of a tree's motion in world axes, each built once.

    Attributes:
        tree: what moves.
        nodes: the frame of each node.
        bodies: for each node, the bodies that its joint moves, each with the frame that it is fixed in.
    """

    def __init__(self, tree: Tree) -> None:
        """Build poses and subspaces."""
        self.tree = tree
        self.nodes: list[Carried] = []
        self.bodies: list[list[tuple[Body, Carried]]] = []
        self._q = tree.split_q(tree.coordinates.q)
        self._rates = tree.split_v(tree.coordinates.v)
        turns: list[_Turn | None] = []
        for node, q in zip(tree.nodes, self._q, strict=True):
            parent = None if node.parent < 0 else self.nodes[node.parent]
            follows = parent is not None and not node.absolute
            base = _placed(node, parent, follows)
            turn = turns[node.parent] if follows and _identity(node.placement.rotation) else None
            frame, turn = _moved(base, node, q, turn)
            turns.append(turn)
            own = _carried(base, frame, parent, follows, node.joint.subspace(q))
            self.nodes.append(own)
            carried: list[tuple[Body, Carried]] = []
            for body in node.bodies:
                if body.ratio is None:
                    carried.append((body, own))
                else:
                    pose, subspace = node.joint.fraction(body.ratio, q)
                    place = Frame(base.rotation, base.point(pose.position)) if _identity(pose.rotation) else base @ pose
                    carried.append((body, _carried(base, place, parent, follows, subspace)))
            self.bodies.append(carried)

    @functools.cached_property
    def velocities(self) -> list[Twist]:
        """ω and the velocity of the origin, of each node, in world axes."""
        found: list[Twist] = []
        for k, node in enumerate(self.tree.nodes):
            found.append(self._velocity(k, self.nodes[k], None if node.parent < 0 else found[node.parent]))
        return found

    def velocity(self, k: int, carried: Carried) -> Twist:
        """ω and the velocity of the origin of what node k's joint moves."""
        if carried is self.nodes[k]:
            return self.velocities[k]
        parent = self.tree.nodes[k].parent
        return self._velocity(k, carried, None if parent < 0 else self.velocities[parent])

    @functools.cached_property
    def drifts(self) -> list[Twist]:
        """ω̇ and the acceleration of the origin of each node at a = 0, in world axes, without gravity."""
        found: list[Twist] = []
        for k, node in enumerate(self.tree.nodes):
            found.append(self._drift(k, self.nodes[k], None if node.parent < 0 else found[node.parent]))
        return found

    def drift(self, k: int, carried: Carried) -> Twist:
        """ω̇ and the acceleration of the origin, at a = 0, of what node k's joint moves."""
        if carried is self.nodes[k]:
            return self.drifts[k]
        parent = self.tree.nodes[k].parent
        return self._drift(k, carried, None if parent < 0 else self.drifts[parent])

    @functools.cached_property
    def inertias(self) -> list[tuple[SpatialInertia, list[tuple[Carried, SpatialInertia]]]]:
        """For each node, the inertia fixed in its frame, and that of each body carried by a share of its joint."""
        found: list[tuple[SpatialInertia, list[tuple[Carried, SpatialInertia]]]] = []
        for node, carried in zip(self.nodes, self.bodies, strict=True):
            own, shared = SpatialInertia.zero(), list[tuple[Carried, SpatialInertia]]()
            for body, mover in carried:
                inertia = inertia_of(body, mover)
                if mover is node:
                    own = own + inertia
                else:
                    shared.append((mover, inertia))
            found.append((own, shared))
        return found

    def _velocity(self, k: int, carried: Carried, parent: Twist | None) -> Twist:
        own = carried.subspace @ self._rates[k]
        return own if parent is None else carried.arm.outward(parent) + own

    def _drift(self, k: int, carried: Carried, parent: Twist | None) -> Twist:
        node, v = self.tree.nodes[k], self._rates[k]
        rate = node.joint.subspace_rate(self._q[k], v)
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


def inertia_of(body: Body, mover: Carried) -> SpatialInertia:
    """Inertia of a body about the origin of the frame that it is fixed in, in world axes."""
    R = mover.frame.rotation
    return SpatialInertia.rigid(body.mass, R @ body.center, R @ body.inertia @ R.T)


def _identity(rotation: ca.SX) -> bool:
    return ca.sparsify(rotation).is_eye()


def _placed(node: Node, parent: Carried | None, follows: bool) -> Frame:
    """Pose of the frame in which the node's joint is placed."""
    if parent is None:
        return node.placement
    position = parent.frame.point(node.placement.position)
    if not follows:
        return Frame(node.placement.rotation, position)
    if _identity(node.placement.rotation):
        return Frame(parent.frame.rotation, position)
    return Frame(parent.frame.rotation @ node.placement.rotation, position)


def _moved(base: Frame, node: Node, q: ca.SX, turn: _Turn | None) -> tuple[Frame, _Turn | None]:
    """Pose of the node's frame, and its rotation as one angle if it is one."""
    if isinstance(node.joint, Revolute):
        axis = node.joint.axis
        if turn is not None and turn.axis == axis:
            turn = _Turn(turn.start, axis, turn.angle + q)
        else:
            turn = _Turn(base.rotation, axis, q)
        return Frame(turn.start @ turned(axis, turn.angle), base.position), turn
    pose = node.joint.pose(q)
    if _identity(pose.rotation):
        return Frame(base.rotation, base.point(pose.position)), turn
    return base @ pose, None


def _carried(base: Frame, frame: Frame, parent: Carried | None, follows: bool, subspace: Twist) -> Carried:
    # Where a joint's axes keep the world's orientation, the parent's rotation does not swing its displacement.
    end = frame.position if follows else base.position
    reach = ca.SX(ca.DM.zeros(3)) if parent is None else end - parent.frame.position
    world = Twist(base.rotation @ subspace.angular, base.rotation @ subspace.linear)
    return Carried(frame, Arm(reach, follows), world, base.rotation)
