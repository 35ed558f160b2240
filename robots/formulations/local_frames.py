"""The local-frame algorithm of Chigarev and Borisov."""

from __future__ import annotations

import casadi as ca

from ..spatial import axial
from ..tree.tree import Tree
from .formulation import Formulation
from .lagrange import lagrange_operator
from .recursive_algorithms import potential_energy


class LocalFrames(Formulation):
    """Steps 1 to 7 of [ChigarevBorisov2015]_, for any tree in the plane or in space.

    Each body has a local frame; its rotation Γ and the position of its pole follow from the parent's (3.1, 3.4); the
    centre of mass r = pole + Γ r_C (3.5, 3.6); its velocity is the *time derivative* of r (3.7), its angular velocity
    is read off Γ̇ Γᵀ (3.2, 3.3); T and P are summed (3.9, 3.10, 5) and go into Lagrange's equations (6, 7).
    """

    name = "local frames"
    differentiates = "positions, T and V"
    eliminates = "–"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M = ∂²T/∂v²."""
        return ca.hessian(self._kinetic_energy(tree), tree.coordinates.v)[0]

    def bias(self, tree: Tree) -> ca.SX:
        """Derive the Lagrange operator at a = 0."""
        return lagrange_operator(self._kinetic_energy(tree), potential_energy(tree), tree.coordinates)

    def _kinetic_energy(self, tree: Tree) -> ca.SX:
        rate = tree.coordinates.rate
        total = ca.SX(0)
        for carried in tree.motion.bodies:
            for body, mover in carried:
                R = mover.frame.rotation
                velocity = rate(mover.frame.point(body.center))
                spin = axial(R.T @ ca.reshape(rate(ca.vec(R)), 3, 3))
                total += (body.mass * ca.sumsqr(velocity) + ca.dot(spin, body.inertia @ spin)) / 2
        return total
