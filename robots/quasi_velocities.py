"""What quasi-velocities add to Lagrange's equations."""

from __future__ import annotations

import casadi as ca

from ..symbolic.coordinates import Coordinates
from ..symbolic.ldl import Ldl


def quasi_velocity_force(momentum: ca.SX, c: Coordinates) -> ca.SX:
    """Nᵀ (Ẇᵀ − (∂(W q̇)/∂q)ᵀ) p of quasi-velocities v = W q̇, [Lurie1961]_; zero where v = q̇.

    W is the left inverse of N that is orthogonal to it; the columns of N must span all velocities that the coordinates
    can have, so that nothing is lost in T. With it Lagrange's equations hold for v:
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
