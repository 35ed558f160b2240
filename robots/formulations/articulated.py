"""Articulated recursion: accelerations of a tree in one sweep inward and one outward, without M."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from ...symbolic.ldl import Ldl
from ..dynamics import Factor
from ..spatial import SpatialInertia, Twist
from ..tree import Tree
from .formulation import Formulation
from .recursion import bias_forces, composite_mass_matrix


class Articulated(Formulation):
    """Articulated-body recursion, O(n) for chains and trees in the plane and in space.

    M⁻¹ is never formed: a joint's own inertia D = Sᵀ I S, k × k for its k velocities, is all that is ever divided by.
    h comes from the recursive Newton–Euler sweep, and M, where it is asked for, from composite inertias.
    [Featherstone2008]_ chapters 5 to 7, written in world axes and for joints whose orientation may be absolute.
    """

    name = "articulated recursion"
    differentiates = "–"
    eliminates = "joint by joint"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """M from composite inertias."""
        return composite_mass_matrix(tree)

    def bias(self, tree: Tree) -> ca.SX:
        """The vector h from two sweeps."""
        return bias_forces(tree)

    def factor(self, tree: Tree, mass_matrix: Callable[[], ca.SX]) -> Factor:
        """Articulated inertias in place of a factorized M."""
        del mass_matrix
        return ArticulatedFactor.of(tree)


@dataclass(frozen=True, eq=False)
class ArticulatedFactor:
    """What one inward sweep leaves: M⁻¹ as a map that costs O(n) per right side.

    Attributes:
        tree: whose M.
        joints: factorized D of each node.
        forces: U of each node: force at its parent's frame per unit acceleration of the joint.
        weighted: U D⁻¹.
    """

    tree: Tree
    joints: tuple[Ldl, ...]
    forces: tuple[Twist, ...]
    weighted: tuple[Twist, ...]

    @classmethod
    def of(cls, tree: Tree) -> ArticulatedFactor:
        """Sweep from the leaves to the root."""
        motion, nodes = tree.motion, tree.nodes
        count = len(nodes)
        articulated = [SpatialInertia.zero() for _ in nodes]
        joints: list[Ldl | None] = [None] * count
        forces, weighted = [Twist.zero()] * count, [Twist.zero()] * count
        for k in reversed(range(count)):
            own, shared = motion.inertias[k]
            nv = nodes[k].joint.nv
            outward, passed = SpatialInertia.zero(), Twist.zero(nv)
            D = ca.SX(ca.DM.zeros(nv, nv))
            for mover, inertia in [(motion.nodes[k], articulated[k] + own), *shared]:
                force = inertia @ mover.subspace
                D = D + mover.subspace.dot(force)
                if nodes[k].parent >= 0:
                    outward = outward + inertia.inward(mover.arm)
                    passed = passed + mover.arm.inward(force)
            joint = Ldl.of(D)
            joints[k], forces[k] = joint, passed
            if nodes[k].parent >= 0:
                weighted[k] = Twist(joint.solve(passed.angular.T).T, joint.solve(passed.linear.T).T)
                j = nodes[k].parent
                articulated[j] = articulated[j] + outward.without(passed, weighted[k])
        return cls(tree, tuple(joint for joint in joints if joint is not None), tuple(forces), tuple(weighted))

    def solve(self, right: ca.SX) -> ca.SX:
        """x with M x = right, for a right side of shape (nv, k)."""
        tree, count, columns = self.tree, len(self.tree.nodes), right.size2()
        left = tree.split_v(right)
        felt = [Twist.zero(columns) for _ in range(count)]
        for k in reversed(range(count)):
            mover, parent = tree.motion.nodes[k], tree.nodes[k].parent
            left[k] = left[k] - mover.subspace.dot(felt[k])
            if parent >= 0:
                felt[parent] = felt[parent] + mover.arm.inward(felt[k]) + self.weighted[k] @ left[k]
        moved: list[Twist] = []
        found: list[ca.SX] = []
        for k in range(count):
            mover, parent = tree.motion.nodes[k], tree.nodes[k].parent
            own = self.joints[k].solve(left[k])
            if parent < 0:
                moved.append(mover.subspace @ own)
            else:
                own = own - self.weighted[k].dot(moved[parent])
                moved.append(mover.arm.outward(moved[parent]) + mover.subspace @ own)
            found.append(own)
        return tree.join_v(found)
