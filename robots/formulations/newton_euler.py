"""General theorems of dynamics: Newton and Euler for every body, with the reactions eliminated."""

from __future__ import annotations

import casadi as ca

from ..spatial import Arm, Twist, axial
from ..tree.tree import Tree
from .formulation import Formulation


class NewtonEuler(Formulation):
    """m c̈ = forces and d/dt (I ω) = moments for each body; the reactions of the joints are then eliminated.

    The accelerations are second derivatives of the positions. From the leaves to the root, the reaction at each joint
    balances its body and all joints beyond; its projection on the joint's own motion is the equation of the joint.
    """

    name = "general theorems"
    differentiates = "positions twice"
    eliminates = "reactions"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M, the coefficients of a in the equations."""
        return ca.jacobian(self._equations(tree), tree.coordinates.a)

    def bias(self, tree: Tree) -> ca.SX:
        """Derive h, the equations at a = 0."""
        c = tree.coordinates
        return ca.substitute(self._equations(tree), c.a, ca.SX.zeros(c.nv))

    def _equations(self, tree: Tree) -> ca.SX:
        motion, rate = tree.motion, tree.coordinates.rate
        reactions = [Twist.zero() for _ in tree.nodes]
        rows: list[ca.SX] = []
        for k in reversed(range(len(tree.nodes))):
            parent = tree.nodes[k].parent
            own = motion.nodes[k]
            row = own.subspace.dot(reactions[k])
            passed = own.arm.inward(reactions[k])
            for body, mover in motion.bodies[k]:
                R = mover.frame.rotation
                center = mover.frame.point(body.center)
                force = body.mass * (rate(rate(center)) - tree.gravity)
                turning = ca.reshape(rate(ca.vec(R)), 3, 3) @ R.T
                moment = rate(R @ body.inertia @ R.T @ axial(turning))
                about = Arm(center - mover.frame.position, True)
                needed = about.inward(Twist(moment, force))
                row = row + mover.subspace.dot(needed)
                passed = passed + mover.arm.inward(needed)
            if parent >= 0:
                reactions[parent] = reactions[parent] + passed
            rows.insert(0, row)
        return tree.join_v(rows)
