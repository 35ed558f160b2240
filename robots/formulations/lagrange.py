"""Lagrange's equations of the second kind."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ..quasi_velocities import quasi_velocity_force
from ..tree import Tree
from .energies import kinetic_energy, potential_energy
from .formulation import Formulation


class Lagrange(Formulation):
    """d/dt ∂L/∂v − Nᵀ ∂L/∂q + Nᵀ (Ẇᵀ − (∂(W q̇)/∂q)ᵀ) ∂T/∂v, the velocities in T handed on from node to node.

    The last term appears for quasi-velocities v = W q̇, W the left inverse of N, [Lurie1961]_, and is zero where v = q̇.
    """

    name = "Lagrange, second kind"
    differentiates = "T and V"
    eliminates = "–"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """M = ∂²T/∂v²."""
        return ca.hessian(kinetic_energy(tree), tree.coordinates.v)[0]

    def bias(self, tree: Tree) -> ca.SX:
        """The Lagrange operator at a = 0."""
        return lagrange_operator(kinetic_energy(tree), potential_energy(tree), tree.coordinates)


def lagrange_operator(T: ca.SX, V: ca.SX, c: Coordinates) -> ca.SX:
    """Lagrange's operator of L = T − V at a = 0, shape (nv,), for velocities or quasi-velocities.

    Args:
        T: kinetic energy in t, q, v.
        V: potential energy in t, q.
        c: coordinates of the system.
    """
    momentum = ca.gradient(T, c.v)
    operator = ca.substitute(c.rate(momentum), c.a, ca.SX.zeros(c.nv)) - c.N.T @ ca.gradient(T - V, c.q)
    return operator + quasi_velocity_force(momentum, c)
