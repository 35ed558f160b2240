"""Recursive kinematics and forces of a tree, each body from its parent, in the axes that take the fewest operations."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca

from ..spatial import Arm, BodyRotation, SpatialInertia, Twist, axial, cross, mirror_lower_triangle
from .body import Body
from .joints import Node
from .kinematics import MovingFrame, TreeKinematics


@dataclass(frozen=True, eq=False)
class SweepStep:
    """Transforms between a node, or a body moved by a fraction of its joint, and its parent.

    Attributes:
        turn: rotation from its axes to those of its parent.
        arm: arm from the parent's origin to its own, in the parent's axes.
        subspace: S in its own axes, for its origin.
        inertia: inertia of the bodies fixed in it, in its own axes, about its origin.
        rate: Ṡ v in its own axes, for fixed axes of the placed joint.
    """

    turn: BodyRotation
    arm: Arm
    subspace: Twist
    inertia: SpatialInertia
    rate: Twist

    def inward(self, force: Twist) -> Twist:
        """Transform a force at its origin to the parent's origin and axes.

        Args:
            force: force in its own axes.
        """
        return self.arm.inward(self.turn.inward(force))

    def outward(self, motion: Twist) -> Twist:
        """Transform the parent's motion to its origin and axes, with the joint locked.

        Args:
            motion: motion of the parent, in the parent's axes.
        """
        return self.turn.outward(self.arm.outward(motion))

    def inward_inertia(self, inertia: SpatialInertia) -> SpatialInertia:
        """Transform an inertia at its origin to the parent's origin and axes.

        Args:
            inertia: inertia in its own axes.
        """
        return self.turn.inertia(inertia).inward(self.arm)


class Sweep:
    """Velocities, accelerations at a = 0 and forces on the bodies of a tree, each built once.

    In the plane all expressions are in world axes, where hinges have the constant axis z and no rotation is needed. In
    space each body has its own axes, in which its inertia and the axis of its joint are constant (the axis is mostly a
    coordinate axis), and the arms between joints are constant and mostly along one axis. World axes are used in space
    too if orientations are measured from them, or if most joints are slanted: full rotations of inertias and of every
    column would cost more.

    Attributes:
        motion: kinematics of the same tree in world axes.
        gravity: acceleration of free fall in world axes, shape (3,) [m/s²].
        nodes: the step of each node.
        shared: for each node, the steps of the bodies moved by a fraction of its joint.
        in_world: True if all expressions are in world axes.
    """

    def __init__(self, motion: TreeKinematics, gravity: ca.SX) -> None:
        """Choose the axes.

        Args:
            motion: kinematics of the tree in world axes.
            gravity: acceleration of free fall in world axes, shape (3,) [m/s²].
        """
        self.motion, self.gravity = motion, gravity
        self._joints, self._rates, q = motion.joints, motion.rates, motion.q
        slanted = [_is_slanted(node, own) for node, own in zip(self._joints, q, strict=True) if node.parent >= 0]
        measured = any(node.absolute for node in self._joints)
        self.in_world = motion.is_planar or measured or 3 * sum(slanted) > 2 * len(slanted)
        self.nodes: list[SweepStep] = []
        self.shared: list[list[SweepStep]] = []
        for k, node in enumerate(self._joints):
            fixed = [body for body in node.bodies if body.ratio is None]
            rate = node.joint.subspace_rate(q[k], self._rates[k])
            if self.in_world:
                own = motion.nodes[k]
                rate = Twist(own.axes @ rate.angular, own.axes @ rate.linear)
                self.nodes.append(_in_world(own, _inertia(fixed, own.frame.rotation), rate))
                movers = [(body, mover) for body, mover in motion.bodies[k] if body.ratio is not None]
                self.shared.append(
                    [_in_world(mover, _inertia([body], mover.frame.rotation), rate) for body, mover in movers]
                )
            else:
                turn, subspace = node.joint.turn(q[k]), node.joint.own_subspace(q[k])
                own_inertia, position = _inertia(fixed), node.joint.pose(q[k]).position
                self.nodes.append(_in_body(node, turn, position, subspace, own_inertia, rate))
                self.shared.append([])
                for body in node.bodies:
                    if body.ratio is not None:
                        pose, share = node.joint.fraction(body.ratio, q[k])
                        turn = BodyRotation(pose.rotation)
                        self.shared[k].append(
                            _in_body(node, turn, pose.position, turn.outward(share), _inertia([body]), rate)
                        )

    @functools.cached_property
    def spins(self) -> list[ca.SX]:
        """ω of each node, shape (3,)."""
        spins: list[ca.SX] = []
        for k, node in enumerate(self._joints):
            spins.append(self._spin(k, self.nodes[k], None if node.parent < 0 else spins[node.parent]))
        return spins

    @functools.cached_property
    def bias_accelerations(self) -> list[Twist]:
        """ω̇ and the acceleration of the origin of each node at a = 0, minus gravity."""
        biases: list[Twist] = []
        for k, node in enumerate(self._joints):
            biases.append(self._bias_acceleration(k, self.nodes[k], None if node.parent < 0 else biases[node.parent]))
        return biases

    @functools.cached_property
    def forces(self) -> list[Twist]:
        """Inertial force of the bodies fixed in each node at a = 0 under gravity, about its origin."""
        return [
            inertial_force(step.inertia, self.spins[k], self.bias_accelerations[k]) for k, step in enumerate(self.nodes)
        ]

    def shared_forces(self, k: int) -> list[Twist]:
        """Return the inertial force of each body moved by a fraction of node k's joint, about its own origin.

        Args:
            k: index of the node.
        """
        j = self._joints[k].parent
        spin, bias = (None, None) if j < 0 else (self.spins[j], self.bias_accelerations[j])
        return [
            inertial_force(s.inertia, self._spin(k, s, spin), self._bias_acceleration(k, s, bias))
            for s in self.shared[k]
        ]

    def _spin(self, k: int, step: SweepStep, parent: ca.SX | None) -> ca.SX:
        own = step.subspace.angular @ self._rates[k]
        if parent is None or not step.arm.turns:
            return own
        return step.turn.outward_vectors(parent) + own

    def _bias_acceleration(self, k: int, step: SweepStep, parent: Twist | None) -> Twist:
        if parent is None:
            parent, spin = Twist(ca.SX(ca.DM.zeros(3)), -self.gravity), ca.SX(ca.DM.zeros(3))
        else:
            spin = self.spins[self._joints[k].parent]
        linear = parent.linear + acceleration_tensor(spin, parent.angular) @ step.arm.reach
        if not step.arm.turns:
            return Twist(ca.SX(ca.DM.zeros(3)), step.turn.outward_vectors(linear)) + step.rate
        relative = step.subspace @ self._rates[k]
        transported = step.turn.outward(Twist(parent.angular, linear))
        spin = step.turn.outward_vectors(spin)
        return transported + Twist(cross(spin, relative.angular), 2 * cross(spin, relative.linear)) + step.rate


def acceleration_tensor(spin: ca.SX, rate: ca.SX) -> ca.SX:
    """Return Ω = α× + ω× ω×, shape (3, 3): Ω r is the acceleration of a point at r relative to the origin.

    Args:
        spin: ω, shape (3,) [rad/s].
        rate: α, shape (3,) [rad/s²].
    """
    return ca.skew(rate) + spin @ spin.T - ca.sumsqr(spin) * ca.SX(ca.DM.eye(3))


def inertial_force(inertia: SpatialInertia, spin: ca.SX, bias: Twist) -> Twist:
    """Return the force that accelerates a rigid body: (J α + ω × J ω + m c × a; m a + Ω m c).

    Args:
        inertia: inertia of the rigid body.
        spin: ω, shape (3,) [rad/s].
        bias: α and a.
    """
    moment = axial(inertia.coupling)  # m c
    turning = inertia.rotational @ bias.angular + cross(spin, inertia.rotational @ spin)
    return Twist(
        turning + cross(moment, bias.linear),
        inertia.mass[0, 0] * bias.linear + acceleration_tensor(spin, bias.angular) @ moment,
    )


def _is_slanted(node: Node, q: ca.SX) -> bool:
    """True if a joint does not rotate about a coordinate axis, or is not placed along the axes."""
    whole = node.joint.turn(q).after(node.placement.rotation)
    return ca.sparsify(whole.fixed).nnz() > 5


def _inertia(bodies: list[Body], rotation: ca.SX | None = None) -> SpatialInertia:
    """Return the inertia about the origin of the bodies' frame: summed in parameters alone, then rotated."""
    total = SpatialInertia.zero()
    for body in bodies:
        total = total + SpatialInertia.rigid(body.mass, body.center, body.inertia)
    if rotation is None:
        return total
    moment = rotation @ axial(total.coupling)
    return SpatialInertia(mirror_lower_triangle(rotation @ total.rotational @ rotation.T), ca.skew(moment), total.mass)


def _in_world(mover: MovingFrame, inertia: SpatialInertia, rate: Twist) -> SweepStep:
    return SweepStep(BodyRotation.none(), mover.arm, mover.subspace, inertia, rate)


def _in_body(
    node: Node, turn: BodyRotation, position: ca.SX, subspace: Twist, inertia: SpatialInertia, rate: Twist
) -> SweepStep:
    """Build a step in the axes of bodies; ``turn``, ``position`` and ``rate`` are in the axes of the placed joint."""
    arm = Arm(node.placement.point(position), turns=True)
    return SweepStep(turn.after(node.placement.rotation), arm, subspace, inertia, turn.outward(rate))
