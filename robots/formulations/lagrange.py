"""Lagrange's equations of the second kind, for velocities and quasi-velocities."""

from __future__ import annotations

import casadi as ca

from ...symbolic.coordinates import Coordinates
from ...symbolic.linear_algebra import Ldl
from ..tree.tree import Tree
from .formulation import Formulation
from .recursive_algorithms import kinetic_energy, potential_energy


def quasi_velocity_force(momentum: ca.SX, c: Coordinates) -> ca.SX:
    """Return Nᵀ (Ẇᵀ − (∂(W q̇)/∂q)ᵀ) p of quasi-velocities v = W q̇, [Lurie1961]_; zero where v = q̇.

    W = (NᵀN)⁻¹Nᵀ is the left inverse of N; the columns of N must span all velocities that the coordinates can have, so
    that T is complete. With it Lagrange's equations hold for v:
    d/dt ∂T/∂v − Nᵀ ∂(T − V)/∂q + this force of p = ∂T/∂v equals the generalized forces.

    Args:
        momentum: p, shape (nv,).
        c: the coordinates.

    Returns:
        The force, shape (nv,), bilinear in v and p.
    """
    if c.are_rates:
        return ca.SX(ca.DM.zeros(c.nv))
    W = Ldl.of(c.N.T @ c.N).solve(c.N.T)
    rates = ca.SX.sym("q_rate", c.nq)
    turned = ca.substitute(ca.jacobian(W @ rates, c.q), rates, c.N @ c.v)
    rate = ca.reshape(c.rate(ca.vec(W)), c.nv, c.nq)
    return c.N.T @ (rate - turned).T @ momentum


class Lagrange(Formulation):
    """d/dt ∂L/∂v − Nᵀ ∂L/∂q + Nᵀ (Ẇᵀ − (∂(W q̇)/∂q)ᵀ) ∂T/∂v, with recursive velocities in T.

    The last term appears for quasi-velocities v = W q̇, W the left inverse of N, [Lurie1961]_, and is zero where v = q̇.
    """

    name = "Lagrange, second kind"
    differentiates = "T and V"
    eliminates = "–"

    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M = ∂²T/∂v²."""
        return ca.hessian(kinetic_energy(tree), tree.coordinates.v)[0]

    def bias(self, tree: Tree) -> ca.SX:
        """Derive the Lagrange operator at a = 0."""
        return lagrange_operator(kinetic_energy(tree), potential_energy(tree), tree.coordinates)


def lagrange_operator(T: ca.SX, V: ca.SX, c: Coordinates) -> ca.SX:
    """Return Lagrange's operator of L = T − V at a = 0, shape (nv,), for velocities or quasi-velocities.

    Args:
        T: kinetic energy in t, q, v.
        V: potential energy in t, q.
        c: coordinates of the system.
    """
    momentum = ca.gradient(T, c.v)
    operator = ca.substitute(c.rate(momentum), c.a, ca.SX.zeros(c.nv)) - c.N.T @ ca.gradient(T - V, c.q)
    return operator + quasi_velocity_force(momentum, c)
