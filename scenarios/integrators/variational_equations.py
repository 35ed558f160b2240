"""The discrete Euler–Lagrange equations of one step, as expressions."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...robots.canonical import canonical_form
from ...robots.manifold import Manifold
from ...robots.robot import Robot
from ...symbolic.elimination import Elimination
from ...symbolic.errors import ModelError
from ..closed_loop import ClosedLoop
from .implicit_blocks import Step, iterated, largest
from .newton_step import Equations

HARM = 1e-9
"""Share by which velocities may be bettered by solving for them a second time."""


@dataclass(frozen=True, eq=False)
class VariationalEquations:
    """Expressions that serve every run of a loop.

    Attributes:
        robot: the plant.
        newton: the equations of (v, λ) with their slope; see :meth:`of`.
        momentum: t, q, v, p → ∂L/∂v, shape (nv,).
        ends: t, q, p → [M −Aᵀ; A 0] and (a, c), with the momenta M v + a and the rows A v + c.
        asks: whether the controller's force comes from outside.
        places: number of rows of order 0; they come first.
        rows: number of all rows.
    """

    robot: Robot
    newton: Equations
    momentum: Equations
    ends: Equations
    asks: bool
    places: int
    rows: int

    @classmethod
    def of(cls, loop: ClosedLoop) -> VariationalEquations:
        """Derive them.

        With q_m = q₀ + h v/2 and q₁ = q₀ + h v: P(q_m, v) − h/2 G(q_m, v) = p₀ + A₀ᵀλ, φ(q₁) = 0, ψ(q_m, v) = 0, where
        P = ∂L/∂v and G = ∂L/∂q + Q is everything that changes the momenta, reactions apart.

        Args:
            loop: plant and controller.

        Raises:
            ModelError: for velocities that are not the rates of the coordinates, natural constraints of order 2 or not
                linear in the velocities, or a plant that has no canonical form.
        """
        robot, c = loop.robot, loop.robot.coordinates
        manifold = _manifold(robot)
        form, symbolic = canonical_form(robot), loop.symbolic()
        n, m, m0 = c.nv, len(manifold.rows), manifold.place.numel()
        force = ca.SX.sym("force", n) if symbolic is None else symbolic.applied
        p = robot.p if symbolic is None else symbolic.symbols.p
        z, h, A0 = ca.SX.sym("z", n + m), ca.SX.sym("h"), ca.SX.sym("A0", m, n)
        q0, p0 = ca.SX.sym("q0", n), ca.SX.sym("p0", n)
        v, lam = z[:n, :], z[n:, :]
        outside = {"force": force} if symbolic is None else {}
        # By a call and not by substitution: what P and G share is worked out once.
        moving = [form.momentum, form.free_rate + force, manifold.velocity[m0:, :]]
        middle = ca.Function("middle", [c.t, c.q, c.v, p, *outside.values()], moving, {"cse": True})
        P, G, psi = middle.call([c.t + h / 2, q0 + h / 2 * v, v, p, *outside.values()])
        end = ca.Function("end", [c.t, c.q, robot.p], [manifold.place])
        phi = end.call([c.t + h, q0 + h * v, robot.p])[0]
        residual = ca.vertcat(P - h / 2 * G - p0 - A0.T @ lam, phi / h, psi)
        inputs = {"z": z, **outside, "t": c.t, "h": h, "q0": q0, "p0": p0}
        inputs |= ({"A0": A0} if m else {}) | {"p": p}
        A, still = manifold.A, ca.SX.zeros(n)
        rest = ca.vertcat(form.linear, ca.substitute(manifold.velocity, c.v, still))
        whole = ca.vertcat(ca.horzcat(robot.mass_matrix, -A.T), ca.horzcat(A, ca.SX.zeros(m, m)))
        place = {"t": c.t, "q": c.q}
        return cls(
            robot=robot,
            newton=Equations.of_residual("variational_step", inputs, residual),
            momentum=Equations("variational_momentum", {**place, "v": c.v, "p": robot.p}, {"P": form.momentum}),
            ends=Equations("variational_ends", {**place, "p": robot.p}, {"whole": whole, "rest": rest}),
            asks=symbolic is None,
            places=m0,
            rows=m,
        )

    def step(self, p: ca.SX) -> Step:
        """One step as expressions; the velocity at the middle of the last one is carried along.

        Args:
            p: symbols of the parameters of plant and controller.
        """
        n, m, plant = self.robot.coordinates.nv, self.rows, p[: self.robot.p.numel(), :]
        newton, ends, momentum = self.newton.function, self.ends.function, self.momentum.function

        def follow(t: ca.SX, h: ca.SX, x: ca.SX, carried: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
            q, v = x[:n, :], x[n:, :]
            whole, rest = ends.call([t, q, plant])
            A, momenta = whole[n:, :n], whole[:n, :n] @ v + rest[:n, :]
            given = [t, h, q, momenta, *([A] if m else []), p]
            guess = ca.vertcat(2 * v - carried, ca.SX.zeros(m))
            z, left = iterated(lambda z: newton.call([z, *given]), guess, n, h, q)
            middle, after = z[:n, :], q + h * z[:n, :]
            momenta = 2 * momentum.call([t + h / 2, q + h / 2 * middle, middle, plant])[0] - momenta - A.T @ z[n:, :]
            whole, rest = ends.call([t + h, after, plant])
            right, factors = ca.vertcat(momenta, ca.SX.zeros(m)) - rest, Elimination.of(whole)
            found = factors.solve(right)
            better = factors.solve(right - whole @ found)
            # No row was exchanged: where that did harm, the step is not one.
            harm = largest(better[:n, :]) > HARM * ca.fmax(1, largest(found[:n, :]))
            return ca.vertcat(after, (found + better)[:n, :]), middle, ca.if_else(harm, np.inf, left)

        return follow


def _manifold(robot: Robot) -> Manifold:
    """φ and ρ of natural constraints that the method takes."""
    c = robot.coordinates
    if not c.are_rates:
        raise ModelError(
            f"{robot.name}: Variational needs velocities that are the rates of the coordinates, q̇ = v; take "
            "GeneralizedAlpha(), Reduced() or Projected() for quasi-velocities such as a body's angular velocity"
        )
    second = [repr(constraint.name) for constraint in robot.natural if constraint.order == 2]
    if second:
        raise ModelError(
            f"{robot.name}: Variational takes natural constraints of order 0 and 1, not those of order 2: "
            f"{', '.join(second)}; take RK4, DOP853 or GeneralizedAlpha"
        )
    manifold = Manifold.of(robot)
    if ca.depends_on(manifold.A, c.v):
        bent = [repr(k.name) for k in robot.natural if ca.depends_on(ca.jacobian(k.residual(c), c.v), c.v)]
        raise ModelError(
            f"{robot.name}: Variational takes natural constraints of order 1 that are linear in the velocities, which "
            f"{', '.join(bent)} are not; take GeneralizedAlpha(), Reduced() or Projected()"
        )
    return manifold
