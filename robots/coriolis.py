"""The matrix C of the terms quadratic in the velocities."""

from __future__ import annotations

import casadi as ca

from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError


def coriolis_matrix(mass_matrix: ca.SX, bias: ca.SX, c: Coordinates) -> ca.SX:
    """C with C v the terms of h quadratic in the velocities, and Ṁ − 2 C skew-symmetric, shape (nv, nv).

    They do no work beyond ½ vᵀ Ṁ v, so that g = 2 C v − Ṁ v has vᵀ g = 0, and with J = ∂g/∂v follow J v = 2 g and
    Jᵀ v = −g. Therefore C = ½ (Ṁ + (J − Jᵀ)/3). For v = q̇ these are Christoffel's symbols times v; it holds as well for
    quasi-velocities, those of nonholonomic systems included.

    Args:
        mass_matrix: M, not an explicit function of time.
        bias: the vector h, shape (nv,); what in it is not quadratic in v plays no part.
        c: the coordinates.

    Raises:
        ModelError: if M depends on time explicitly: no C has both properties then.
    """
    if ca.depends_on(mass_matrix, c.t):
        raise ModelError("the mass matrix depends on time explicitly: there is no C with Ṁ − 2C skew-symmetric")
    scale = ca.SX.sym("scale")
    scaled = ca.substitute(bias, c.v, scale * c.v)
    quadratic = ca.substitute(ca.jacobian(ca.jacobian(scaled, scale), scale), scale, ca.SX(0)) / 2
    rate = ca.reshape(c.rate(ca.vec(mass_matrix)), c.nv, c.nv)
    slope = ca.jacobian(2 * quadratic - rate @ c.v, c.v)
    return ca.densify((rate + (slope - slope.T) / 3) / 2)
