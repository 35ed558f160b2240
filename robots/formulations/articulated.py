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
class ArticulatedJoint:
    """What a joint lets through to its parent.

    Attributes:
        inertia: D = Sᵀ I S, factorized.
        weighted: U D⁻¹, with U the force per unit acceleration of the joint.
        within: whether U is meant at the node's own origin, in its own axes; else at its parent's.
        units: which columns of S are axes of coordinates, where U is at the node's own origin.
    """

    inertia: Ldl
    weighted: Twist
    within: bool
    units: AxisColumns


@dataclass(frozen=True, eq=False)
class ArticulatedFactor:
    """What one inward sweep leaves: M = L D Lᵀ with L and Lᵀ as maps that cost O(n) per right side.

    Forward, L⁻¹ is a sweep inward: what is left of each joint's force when all joints beyond give way freely. Backward,
    L⁻ᵀ is a sweep outward. Products right₁ᵀ M⁻¹ right₂ need the sweep inward only; [Rodriguez1992]_.

    Attributes:
        tree: whose M.
        passages: of each node.
    """

    tree: Tree
    passages: tuple[ArticulatedJoint, ...]

    @classmethod
    def of(cls, tree: Tree) -> ArticulatedFactor:
        """Sweep from the leaves to the root."""
        sweep, count = tree.sweep, len(tree.nodes)
        articulated = [step.inertia for step in sweep.nodes]
        passages: list[ArticulatedJoint] = []
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
                left = inertia.without(force, weighted)
                outward = node.felt(left) if parent >= 0 else left
            elif parent >= 0:
                passed, outward = node.inward(force), node.felt(inertia)
                for step, own in zip(shared, forces, strict=True):
                    passed, outward = passed + step.inward(own), outward + step.felt(step.inertia)
                weighted = _divided(joint, passed)
                outward = outward.without(passed, weighted)
            else:
                weighted, outward = force, inertia
            passages.insert(0, ArticulatedJoint(joint, weighted, not shared, units))
            if parent >= 0:
                articulated[parent] = articulated[parent] + outward
        return cls(tree, tuple(passages))

    @property
    def joints(self) -> tuple[Ldl, ...]:
        """Factorized D of each node."""
        return tuple(passage.inertia for passage in self.passages)

    def solve(self, right: ca.SX) -> ca.SX:
        """x with M x = right, for a right side of shape (nv, k)."""
        return self.backward(self.weighted(self.forward(right)))

    def forward(self, right: ca.SX) -> ca.SX:
        """L⁻¹ right, for a right side of shape (nv, k)."""
        return self._inward(right, [Twist.zero(right.size2()) for _ in self.tree.nodes], bodies=False)

    def half_acceleration(self, force: ca.SX) -> ca.SX:
        """L⁻¹ (force − h) with the velocity products and gravity of the tree in h, in one sweep.

        Args:
            force: all other generalized forces, shape (nv,).
        """
        return self._inward(force, self.tree.sweep.forces, bodies=True)

    def weighted(self, half: ca.SX) -> ca.SX:
        """D⁻¹ y.

        Args:
            half: y, shape (nv, k).
        """
        parts = zip(self.passages, self.tree.split_v(half), strict=True)
        return self.tree.join_v([passage.inertia.solve(own) for passage, own in parts])

    def rooted(self, half: ca.SX) -> ca.SX:
        """D^(−½) y, D being factorized for each joint.

        Args:
            half: y, shape (nv, k).
        """
        parts = zip(self.passages, self.tree.split_v(half), strict=True)
        return self.tree.join_v([passage.inertia.rooted(passage.inertia.forward(own)) for passage, own in parts])

    def backward(self, half: ca.SX) -> ca.SX:
        """L⁻ᵀ y.

        Args:
            half: y, shape (nv, k).
        """
        tree, sweep = self.tree, self.tree.sweep
        moved: list[Twist] = []
        found: list[ca.SX] = []
        for k, own in enumerate(tree.split_v(half)):
            passage, step, parent = self.passages[k], sweep.nodes[k], tree.nodes[k].parent
            if parent < 0:
                moved.append(step.subspace @ own)
                found.append(own)
                continue
            carried = step.outward(moved[parent])
            if passage.within:
                units = passage.units
                rest = own - units.others(passage.weighted).dot(carried)
                # Along these axes the node moves as ``rest`` says, whatever its parent does.
                own = rest - units.along(carried) if units.rows else rest
                moved.append(units.set(carried, rest) if units.rows else carried + step.subspace @ own)
            else:
                own = own - passage.weighted.dot(moved[parent])
                moved.append(carried + step.subspace @ own)
            found.append(own)
        return tree.join_v(found)

    def _inward(self, right: ca.SX, felt: list[Twist], *, bodies: bool) -> ca.SX:
        tree, sweep, felt = self.tree, self.tree.sweep, list(felt)
        left = tree.split_v(right)
        for k in reversed(range(len(tree.nodes))):
            passage, step, parent = self.passages[k], sweep.nodes[k], tree.nodes[k].parent
            asked = left[k]
            left[k] = asked - step.subspace.dot(felt[k])
            others = list(zip(sweep.shared[k], sweep.shared_forces(k), strict=True)) if bodies else []
            for other, force in others:
                left[k] = left[k] - other.subspace.dot(force)
            if parent < 0:
                continue
            if passage.within:
                passed = step.inward(passage.units.set(felt[k] + passage.weighted @ left[k], asked))
            else:
                passed = step.inward(felt[k]) + passage.weighted @ left[k]
            for other, force in others:
                passed = passed + other.inward(force)
            felt[parent] = felt[parent] + passed
        return tree.join_v(left)


def _divided(joint: Ldl, force: Twist) -> Twist:
    return Twist(joint.solve(force.angular.T).T, joint.solve(force.linear.T).T)
