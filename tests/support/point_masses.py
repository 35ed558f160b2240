"""A point mass that forces push about: what can be computed by hand."""

from __future__ import annotations

import casadi as ca

from erugin.robots import Robot, lagrangian_system

MASS = 2.0


def point_mass(dimension: int = 2, mass: float = MASS) -> Robot:
    """q is the place [m], u the force [N]; no gravity."""
    q, v, u = (ca.SX.sym(name, dimension) for name in ("x", "w", "f"))
    return lagrangian_system(q=q, v=v, T=mass * ca.sumsqr(v) / 2, Q=u, u=u)
