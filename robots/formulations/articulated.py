"""Articulated recursion: accelerations of a tree in one sweep inward and one outward, without M."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ..dynamics import Factor
from ..spatial import AxisColumns, Twist
from ..tree.tree import Tree
from .formulation import Formulation
from .recursive_algorithms import bias_forces, composite_mass_matrix


class Articulated(Formulation):
    """Articulated-body recursion, O(n) for chains and trees in the plane and in space.

    M⁻¹ is never formed: the only divisor is the inertia of each joint, D = Sᵀ I S, k × k for its k velocities. h comes
    from the recursive Newton–Euler sweep, and M, if needed, from composite inertias. [Featherstone2008]_ chapters 5 to
    7, extended to joints whose orientation may be absolute.
    """

    name = "articulated recursion"
    differentiates = "–"
    eliminates = "joint by joint"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M from composite inertias."""
        return composite_mass_matrix(tree)

    def bias(self, tree: Tree) -> ca.SX:
        """Derive the vector h by two sweeps."""
        return bias_forces(tree)

    def factor(self, tree: Tree, mass_matrix: Callable[[], ca.SX]) -> Factor:
        """Return articulated inertias in place of a factorized M."""
        del mass_matrix
        return ArticulatedFactor.of(tree)


@dataclass(frozen=True, eq=False)
class ArticulatedJoint:
    """Factorized articulated inertia of a joint.

    Attributes:
        inertia: D = Sᵀ I S, factorized.
        weighted: U D⁻¹, with U the force per unit acceleration of the joint.
        at_own_origin: True if U is at the node's own origin, in its own axes; False at its parent's.
        units: columns of S that are coordinate axes, if U is at the node's own origin.
    """

    inertia: Ldl
    weighted: Twist
    at_own_origin: bool
    units: AxisColumns


@dataclass(frozen=True, eq=False)
class ArticulatedFactor:
    """M = L D Lᵀ by one inward sweep, with L and Lᵀ as maps that cost O(n) per right side.

    L⁻¹ is an inward sweep: the part of each joint's force that remains when all joints beyond are free. L⁻ᵀ is an
    outward sweep. Products right₁ᵀ M⁻¹ right₂ need the inward sweep only; [Rodriguez1992]_.

    Attributes:
        tree: tree whose M is factorized.
        articulated_joints: articulated inertia of each node's joint.
    """

    tree: Tree
    articulated_joints: tuple[ArticulatedJoint, ...]

    @classmethod
    def of(cls, tree: Tree) -> ArticulatedFactor:
        """Sweep from the leaves to the root."""
        sweep, count = tree.sweep, len(tree.nodes)
        articulated = [step.inertia for step in sweep.nodes]
        joints: list[ArticulatedJoint] = []
        for k in reversed(range(count)):
            node, shared, parent = sweep.nodes[k], sweep.shared[k], tree.nodes[k].parent
            inertia = articulated[k]
            force = inertia @ node.subspace
            D = node.subspace.dot(force)
            forces = [step.inertia @ step.subspace for step in shared]
            for step, own in zip(shared, forces, strict=True):
                D = D + step.subspace.dot(own)
            joint, units = Ldl.of(D), AxisColumns.none()
            if not shared:
                units = AxisColumns.of(node.subspace)
                weighted = units.ones(_divided(joint, force))
                free = inertia.without(force, weighted)
                outward = node.inward_inertia(free) if parent >= 0 else free
            elif parent >= 0:
                passed, outward = node.inward(force), node.inward_inertia(inertia)
                for step, own in zip(shared, forces, strict=True):
                    passed, outward = passed + step.inward(own), outward + step.inward_inertia(step.inertia)
                weighted = _divided(joint, passed)
                outward = outward.without(passed, weighted)
            else:
                weighted, outward = force, inertia
            joints.insert(0, ArticulatedJoint(joint, weighted, not shared, units))
            if parent >= 0:
                articulated[parent] = articulated[parent] + outward
        return cls(tree, tuple(joints))

    @property
    def joints(self) -> tuple[Ldl, ...]:
        """Factorized D of each node."""
        return tuple(joint.inertia for joint in self.articulated_joints)

    def solve(self, right: ca.SX) -> ca.SX:
        """Return x with M x = right, for a right side of shape (nv, k)."""
        return self.backward(self.weighted(self.forward(right)))

    def forward(self, right: ca.SX) -> ca.SX:
        """Return L⁻¹ right, for a right side of shape (nv, k)."""
        return self._inward(right, [Twist.zero(right.size2()) for _ in self.tree.nodes], bodies=False)

    def half_acceleration(self, force: ca.SX) -> ca.SX:
        """Return L⁻¹ (force − h) with the velocity products and gravity of the tree in h, by one sweep.

        Args:
            force: all other generalized forces, shape (nv,).
        """
        return self._inward(force, self.tree.sweep.forces, bodies=True)

    def weighted(self, half: ca.SX) -> ca.SX:
        """Return D⁻¹ y.

        Args:
            half: y, shape (nv, k).
        """
        parts = zip(self.articulated_joints, self.tree.split_v(half), strict=True)
        return self.tree.join_v([joint.inertia.solve(own) for joint, own in parts])

    def rooted(self, half: ca.SX) -> ca.SX:
        """Return D^(−½) y, with D factorized for each joint.

        Args:
            half: y, shape (nv, k).
        """
        parts = zip(self.articulated_joints, self.tree.split_v(half), strict=True)
        return self.tree.join_v([joint.inertia.rooted(joint.inertia.forward(own)) for joint, own in parts])

    def backward(self, half: ca.SX) -> ca.SX:
        """Return L⁻ᵀ y.

        Args:
            half: y, shape (nv, k).
        """
        tree, sweep = self.tree, self.tree.sweep
        motions: list[Twist] = []
        rows: list[ca.SX] = []
        for k, own in enumerate(tree.split_v(half)):
            joint, step, parent = self.articulated_joints[k], sweep.nodes[k], tree.nodes[k].parent
            if parent < 0:
                motions.append(step.subspace @ own)
                rows.append(own)
                continue
            carried = step.outward(motions[parent])
            if joint.at_own_origin:
                units = joint.units
                rest = own - units.others(joint.weighted).dot(carried)
                # Along these axes the motion of the node is ``rest``, whatever its parent does.
                own = rest - units.along(carried) if units.rows else rest
                motions.append(units.set(carried, rest) if units.rows else carried + step.subspace @ own)
            else:
                own = own - joint.weighted.dot(motions[parent])
                motions.append(carried + step.subspace @ own)
            rows.append(own)
        return tree.join_v(rows)

    def _inward(self, right: ca.SX, forces: list[Twist], *, bodies: bool) -> ca.SX:
        tree, sweep, forces = self.tree, self.tree.sweep, list(forces)
        rows = tree.split_v(right)
        for k in reversed(range(len(tree.nodes))):
            joint, step, parent = self.articulated_joints[k], sweep.nodes[k], tree.nodes[k].parent
            applied = rows[k]
            rows[k] = applied - step.subspace.dot(forces[k])
            others = list(zip(sweep.shared[k], sweep.shared_forces(k), strict=True)) if bodies else []
            for other, force in others:
                rows[k] = rows[k] - other.subspace.dot(force)
            if parent < 0:
                continue
            if joint.at_own_origin:
                passed = step.inward(joint.units.set(forces[k] + joint.weighted @ rows[k], applied))
            else:
                passed = step.inward(forces[k]) + joint.weighted @ rows[k]
            for other, force in others:
                passed = passed + other.inward(force)
            forces[parent] = forces[parent] + passed
        return tree.join_v(rows)


def _divided(joint: Ldl, force: Twist) -> Twist:
    return Twist(joint.solve(force.angular.T).T, joint.solve(force.linear.T).T)
