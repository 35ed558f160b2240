"""The nearest state that natural constraints admit, as an expression: what an integrator projects on."""

from __future__ import annotations

import casadi as ca

from ..robots.constrained_factor import ConstrainedFactor
from ..robots.robot import Robot
from ..symbolic.errors import ModelError


def projection(robot: Robot) -> ca.Function:
    """A function (t, x, p) → x of the state x = (q, v), shape (nq + nv,), with the robot's parameters p.

    Positions: q moves by N δ with δ = −M⁻¹Φᵀ(Φ M⁻¹Φᵀ)⁻¹ φ, Φ = φ_q N, until the constraints of order 0 hold; of all
    ways back it is to first order the least in the metric of the mass matrix. Velocities: v moves likewise until φ̇ = 0
    and the constraints of order 1 hold there, as an impact without work of the reactions would change it: the kinetic
    energy falls by that of the change, ½ Δvᵀ M Δv, where the constraints do not move and are linear in v [Bayo1996]_.

    What is left of φ is of the third power of its miss: after one step of Newton's method it is ½ φ_qq [N δ, N δ], to
    this power, and a second step takes that away without evaluating φ anew (Chebyshev's method, [Traub1964]_). Of
    constraints that are linear in v nothing is left but rounding errors, of others what two steps leave.

    M, and for the positions Φ and the factor, are those of the state that is projected: near the constraints they
    change by what is projected away. Φ for the velocities is that of the place where they are to hold.

    Rows that depend on others are passed over where the robot allows them, ``redundant="least-norm"``.

    Args:
        robot: with natural constraints of order 0 or 1.

    Raises:
        ModelError: if there are none.
    """
    c = robot.coordinates
    by_order = {order: [k for k in robot.natural if k.order == order] for order in (0, 1)}
    if not any(by_order.values()):
        raise ModelError(f"{robot.name} has no natural constraints of order 0 or 1, so there is nothing to project on")
    phi = ca.vertcat(ca.SX(0, 1), *(ca.densify(k.residual(c)) for k in by_order[0]))
    rows = ca.vertcat(ca.SX(0, 1), c.rate(phi), *(ca.densify(k.residual(c)) for k in by_order[1]))
    q, v = c.q, c.v
    if phi.numel():
        slope = ca.jacobian(phi, c.q) @ c.N
        held = ConstrainedFactor.of(robot.factor, slope, by_order[0], c, robot.redundant)
        moved = -c.N @ _way_back(held, phi)
        q = c.q + (moved - c.N @ _way_back(held, _curvature(phi, c.q, moved) / 2))
    slope = ca.jacobian(rows, c.v)
    linear = not ca.depends_on(slope, c.v)
    still = ca.substitute(rows, c.v, ca.SX.zeros(c.nv)) if linear else rows
    there = ca.Function("there", [c.t, c.q, c.v, robot.p], [slope, still], {"cse": True})
    slope, still = there.call([c.t, q, v, robot.p])
    held = ConstrainedFactor.of(robot.factor, slope, [*by_order[0], *by_order[1]], c, robot.redundant)
    if linear:
        v = v - _way_back(held, slope @ v + still)
    else:
        v = v - _way_back(held, still)
        v = v - _way_back(held, there.call([c.t, q, v, robot.p])[1])
    x = ca.vertcat(c.q, c.v)
    return ca.Function("projection", [c.t, x, robot.p], [ca.vertcat(q, v)], {"cse": True})


def _way_back(held: ConstrainedFactor, miss: ca.SX) -> ca.SX:
    """M⁻¹Φᵀ(Φ M⁻¹Φᵀ)⁻¹ times what the rows are missed by, shape (nv,)."""
    return held.factor.backward(held.weighted @ held.natural.solve(miss))


def _curvature(phi: ca.SX, q: ca.SX, moved: ca.SX) -> ca.SX:
    """Second derivative of φ along one displacement of q, shape (k,)."""
    along = ca.SX.sym("along", q.numel())
    second = ca.jtimes(ca.jtimes(phi, q, along), q, along)
    return ca.substitute(second, along, moved)
