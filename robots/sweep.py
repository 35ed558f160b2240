"""A tree as sweeps over it see it: each body from the one before, in the axes in which that takes fewest operations."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from .spatial import Arm, SpatialInertia, Twist, axial, cross, mirrored
from .turn import Turn

if TYPE_CHECKING:
    from .motion import Carried
    from .tree import Body, Node, Tree


@dataclass(frozen=True, eq=False)
class Step:
    """How a node, or a body that a share of its joint carries, moves from its parent.

    Attributes:
        turn: from its axes to those of its parent.
        arm: from the parent's origin to its own, in the parent's axes.
        subspace: S in its own axes, for its origin.
        inertia: of what is fixed in it, in its own axes, about its origin.
        rate: Ṡ v in its own axes, with those of the placed joint held fixed.
    """

    turn: Turn
    arm: Arm
    subspace: Twist
    inertia: SpatialInertia
    rate: Twist

    def inward(self, force: Twist) -> Twist:
        """A force at its origin as it is felt at the parent's.

        Args:
            force: in its own axes.
        """
        return self.arm.inward(self.turn.inward(force))

    def outward(self, motion: Twist) -> Twist:
        """How it moves with the parent, its joint held.

        Args:
            motion: of the parent, in the parent's axes.
        """
        return self.turn.outward(self.arm.outward(motion))

    def felt(self, inertia: SpatialInertia) -> SpatialInertia:
        """An inertia at its origin as it is felt at the parent's.

        Args:
            inertia: in its own axes.
        """
        return self.turn.inertia(inertia).inward(self.arm)


class Sweep:
    """Velocities, accelerations at a = 0 and forces on the bodies of a tree, each built once.

    In the plane all is written in world axes, where hinges have the constant axis z and nothing is turned. In space
    each body has its own axes: its inertia is constant in them, the axis of its joint is too and mostly one of them,
    and arms between joints are constant and mostly along one. World axes are taken in space too where orientations are
    measured from them, and where most joints are slanted: the full rotations of inertias and of every column cost more.

    Attributes:
        tree: what moves.
        nodes: the step of each node.
        shared: for each node, the steps of the bodies that a share of its joint carries.
        in_world: whether all is in world axes.
    """

    def __init__(self, tree: Tree) -> None:
        """Choose the axes.

        Args:
            tree: what moves.
        """
        self.tree = tree
        self._rates = tree.split_v(tree.coordinates.v)
        q = tree.split_q(tree.coordinates.q)
        slanted = [_is_slanted(node, own) for node, own in zip(tree.nodes, q, strict=True) if node.parent >= 0]
        measured = any(node.absolute for node in tree.nodes)
        self.in_world = tree.is_planar or measured or 3 * sum(slanted) > 2 * len(slanted)
        self.nodes: list[Step] = []
        self.shared: list[list[Step]] = []
        for k, node in enumerate(tree.nodes):
            fixed = [body for body in node.bodies if body.ratio is None]
            rate = node.joint.subspace_rate(q[k], self._rates[k])
            if self.in_world:
                motion = tree.motion
                own = motion.nodes[k]
                rate = Twist(own.axes @ rate.angular, own.axes @ rate.linear)
                self.nodes.append(_in_world(own, _inertia(fixed, own.frame.rotation), rate))
                movers = [(body, mover) for body, mover in motion.bodies[k] if body.ratio is not None]
                self.shared.append(
                    [_in_world(mover, _inertia([body], mover.frame.rotation), rate) for body, mover in movers]
                )
            else:
                turn, subspace = node.joint.turn(q[k]), node.joint.own_subspace(q[k])
                own_inertia, place = _inertia(fixed), node.joint.pose(q[k]).position
                self.nodes.append(_in_body(node, turn, place, subspace, own_inertia, rate))
                self.shared.append([])
                for body in node.bodies:
                    if body.ratio is not None:
                        pose, share = node.joint.fraction(body.ratio, q[k])
                        turn = Turn(pose.rotation)
                        self.shared[k].append(
                            _in_body(node, turn, pose.position, turn.outward(share), _inertia([body]), rate)
                        )

    @functools.cached_property
    def spins(self) -> list[ca.SX]:
        """ω of each node, shape (3,)."""
        found: list[ca.SX] = []
        for k, node in enumerate(self.tree.nodes):
            found.append(self._spin(k, self.nodes[k], None if node.parent < 0 else found[node.parent]))
        return found

    @functools.cached_property
    def drifts(self) -> list[Twist]:
        """ω̇ and the acceleration of the origin of each node at a = 0, less free fall."""
        found: list[Twist] = []
        for k, node in enumerate(self.tree.nodes):
            found.append(self._drift(k, self.nodes[k], None if node.parent < 0 else found[node.parent]))
        return found

    @functools.cached_property
    def forces(self) -> list[Twist]:
        """What the bodies fixed in each node need at a = 0 under gravity, about its origin."""
        return [needed(step.inertia, self.spins[k], self.drifts[k]) for k, step in enumerate(self.nodes)]

    def shared_forces(self, k: int) -> list[Twist]:
        """The same of each body that a share of node k's joint carries, about its own origin.

        Args:
            k: place of the node.
        """
        j = self.tree.nodes[k].parent
        spin, drift = (None, None) if j < 0 else (self.spins[j], self.drifts[j])
        return [needed(s.inertia, self._spin(k, s, spin), self._drift(k, s, drift)) for s in self.shared[k]]

    def _spin(self, k: int, step: Step, parent: ca.SX | None) -> ca.SX:
        own = step.subspace.angular @ self._rates[k]
        if parent is None or not step.arm.turns:
            return own
        return step.turn.outward_vectors(parent) + own

    def _drift(self, k: int, step: Step, parent: Twist | None) -> Twist:
        if parent is None:
            parent, spin = Twist(ca.SX(ca.DM.zeros(3)), -self.tree.gravity), ca.SX(ca.DM.zeros(3))
        else:
            spin = self.spins[self.tree.nodes[k].parent]
        linear = parent.linear + change(spin, parent.angular) @ step.arm.reach
        if not step.arm.turns:
            return Twist(ca.SX(ca.DM.zeros(3)), step.turn.outward_vectors(linear)) + step.rate
        relative = step.subspace @ self._rates[k]
        moved = step.turn.outward(Twist(parent.angular, linear))
        spin = step.turn.outward_vectors(spin)
        return moved + Twist(cross(spin, relative.angular), 2 * cross(spin, relative.linear)) + step.rate


def change(spin: ca.SX, rate: ca.SX) -> ca.SX:
    """Ω = α× + ω× ω×: Ω r is the acceleration of a point at r beyond that of the origin, shape (3, 3).

    Args:
        spin: ω, shape (3,) [rad/s].
        rate: α, shape (3,) [rad/s²].
    """
    return ca.skew(rate) + spin @ spin.T - ca.sumsqr(spin) * ca.SX(ca.DM.eye(3))


def needed(inertia: SpatialInertia, spin: ca.SX, drift: Twist) -> Twist:
    """Force that a rigid body needs: (J α + ω × J ω + m c × a; m a + Ω m c).

    Args:
        inertia: of the rigid body.
        spin: ω, shape (3,) [rad/s].
        drift: α and a.
    """
    moment = axial(inertia.coupling)  # m c
    turning = inertia.rotational @ drift.angular + cross(spin, inertia.rotational @ spin)
    return Twist(
        turning + cross(moment, drift.linear),
        inertia.mass[0, 0] * drift.linear + change(spin, drift.angular) @ moment,
    )


def _is_slanted(node: Node, q: ca.SX) -> bool:
    """Whether a joint turns about no axis of coordinates, or is placed otherwise than along them."""
    whole = node.joint.turn(q).after(node.placement.rotation)
    return ca.sparsify(whole.fixed).nnz() > 5


def _inertia(bodies: list[Body], rotation: ca.SX | None = None) -> SpatialInertia:
    """Inertia about the origin of the bodies' frame: made of parameters alone, then turned."""
    total = SpatialInertia.zero()
    for body in bodies:
        total = total + SpatialInertia.rigid(body.mass, body.center, body.inertia)
    if rotation is None:
        return total
    moment = rotation @ axial(total.coupling)
    return SpatialInertia(mirrored(rotation @ total.rotational @ rotation.T), ca.skew(moment), total.mass)


def _in_world(mover: Carried, inertia: SpatialInertia, rate: Twist) -> Step:
    return Step(Turn.none(), mover.arm, mover.subspace, inertia, rate)


def _in_body(node: Node, turn: Turn, position: ca.SX, subspace: Twist, inertia: SpatialInertia, rate: Twist) -> Step:
    """A step in the axes of bodies; ``turn``, ``position`` and ``rate`` are in the axes of the placed joint."""
    arm = Arm(node.placement.point(position), turns=True)
    return Step(turn.after(node.placement.rotation), arm, subspace, inertia, turn.outward(rate))
