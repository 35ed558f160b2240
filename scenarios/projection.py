"""The nearest state that natural constraints admit, as an expression: what an integrator projects on."""

from __future__ import annotations

import casadi as ca

from ..robots.natural_factor import natural_factor
from ..robots.robot import Robot
from ..symbolic.errors import ModelError

ITERATIONS = 2
"""Of Newton's method: one leaves the square of the miss of a step, two leave rounding error."""


def projection(robot: Robot) -> ca.Function:
    """A function (t, x, p) → x of the state x = (q, v), shape (nq + nv,), with the robot's parameters p.

    Positions: q moves by N δ with δ = −M⁻¹Φᵀ(Φ M⁻¹Φᵀ)⁻¹ φ, Φ = φ_q N, until the constraints of order 0 hold; of all
    ways back it is to first order the least in the metric of the mass matrix. Velocities: v moves likewise until φ̇ = 0
    and the constraints of order 1 hold there, as an impact without work of the reactions would change it: the kinetic
    energy falls by that of the change, ½ Δvᵀ M Δv, where the constraints do not move and are linear in v [Bayo1996]_.

    Rows that depend on others are passed over where the robot allows them, ``redundant="least-norm"``.

    M, Φ and the factor are those of the state that is projected: near the constraints they change by what is projected
    away.

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
        back, square = _way_back(robot, ca.jacobian(phi, c.q) @ c.N)
        factor = natural_factor(square, by_order[0], c, robot.redundant)
        residual = ca.Function("phi", [c.t, c.q, robot.p], [phi])
        for _ in range(ITERATIONS):
            q = q - c.N @ (back @ factor.solve(residual.call([c.t, q, robot.p])[0]))
    terms = [rows, *_way_back(robot, ca.jacobian(rows, c.v))]
    slopes = ca.Function("slopes", [c.t, c.q, c.v, robot.p], terms, {"cse": True})
    _, back, square = slopes.call([c.t, q, v, robot.p])
    factor = natural_factor(square, [*by_order[0], *by_order[1]], c, robot.redundant)
    for _ in range(ITERATIONS):
        v = v - back @ factor.solve(slopes.call([c.t, q, v, robot.p])[0])
    x = ca.vertcat(c.q, c.v)
    return ca.Function("projection", [c.t, x, robot.p], [ca.vertcat(q, v)], {"cse": True})


def _way_back(robot: Robot, slope: ca.SX) -> tuple[ca.SX, ca.SX]:
    """M⁻¹Φᵀ, shape (nv, k), and Φ M⁻¹Φᵀ."""
    back = robot.factor.solve(slope.T)
    return back, slope @ back
