"""The equations of one step of the generalized-α method, as expressions."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ..closed_loop import ClosedLoop
from .implicit_blocks import Step, iterated
from .newton_step import Equations


@dataclass(frozen=True, eq=False)
class AlphaEquations:
    """Kernels that serve every run of a loop.

    Attributes:
        robot: the plant.
        newton: the equations of (w, λ h) and, where N is not the identity, of the mean rate of q; see :meth:`of`.
        held: t, q, v, p → [M −Aᵀ; A 0], which answers a jump of the force.
        asks: whether the controller's force comes from outside.
        rows: number of rows of A.
    """

    robot: Robot
    newton: Equations
    held: Kernel
    asks: bool
    rows: int

    @classmethod
    def of(cls, loop: ClosedLoop) -> AlphaEquations:
        """Derive them.

        The unknown w is the displacement over h. With it all columns of the slope are of order one however short the
        step, as in the scaling of [Bottasso2007]_, for φ is divided by h and λ multiplied.

        Args:
            loop: plant and controller.
        """
        robot, c, symbolic = loop.robot, loop.robot.coordinates, loop.symbolic()
        A, b = robot.natural_form
        n, m, further = c.nv, A.size1(), 0 if c.are_rates else c.nq
        force = ca.SX.sym("force", n) if symbolic is None else symbolic.applied
        p = robot.p if symbolic is None else symbolic.symbols.p
        z, h, alpha = ca.SX.sym("z", n + m + further), ca.SX.sym("h"), ca.SX.sym("alpha", 4)
        q0, v0, d0, a0 = (ca.SX.sym(name, k) for name, k in (("q0", c.nq), ("v0", n), ("d0", n), ("a0", n)))
        w, impulse, rate = z[:n, :], z[n : n + m, :], z[n + m :, :]
        a1 = after_acceleration(alpha, h, w, v0, a0)
        v1 = v0 + h * (1 - alpha[3]) * a0 + h * alpha[3] * a1
        d1 = ((1 - alpha[0]) * a1 + alpha[0] * a0 - alpha[1] * d0) / (1 - alpha[1])
        q1 = q0 + h * (rate if further else w)
        d = ca.SX.sym("d", n)
        outside = {"force": force} if symbolic is None else {}
        lam = ca.SX.sym("lam", m)
        balance = h * (robot.mass_matrix @ d + robot.bias - force) - A.T @ lam
        rows: list[ca.SX] = []
        first = 0
        for constraint in robot.natural:
            residual = ca.densify(constraint.residual(c))
            last = first + residual.numel()
            # Those of order 2 hold with the stable filter that they may have.
            held = h * (A[first:last, :] @ d - b[first:last, :])
            rows.append((residual / h, residual, held)[constraint.order])
            first = last
        whole = ca.vertcat(balance, *rows)
        names = [c.t, h, c.q, c.v, d, lam, p, *outside.values()]
        end = ca.Function("end", names, [whole], {"cse": True})
        residual = end.call([c.t + h, h, q1, v1, d1, impulse, p, *outside.values()])[0]
        if further:
            mean = ca.Function("mean", [c.t, c.q, robot.p], [c.N])
            residual = ca.vertcat(residual, rate - mean.call([c.t + h / 2, (q0 + q1) / 2, robot.p])[0] @ w)
        inputs = {"z": z, **outside, "t": c.t, "h": h, "alpha": alpha}
        inputs |= {"q0": q0, "v0": v0, "d0": d0, "a0": a0, "p": p}
        answers = ca.vertcat(ca.horzcat(robot.mass_matrix, -A.T), ca.horzcat(A, ca.SX.zeros(m, m)))
        state = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        return cls(
            robot=robot,
            newton=Equations.of_residual("alpha_step", inputs, residual),
            held=Kernel("alpha_held", state, {"whole": ca.densify(answers)}, compiled=False),
            asks=symbolic is None,
            rows=m,
        )

    def step(self, p: ca.SX, coefficients: tuple[float, float, float, float]) -> Step:
        """One step as expressions; v̇ and a are carried along.

        Args:
            p: symbols of the parameters of plant and controller.
            coefficients: α_m, α_f, β and γ.
        """
        c, newton, alpha = self.robot.coordinates, self.newton.function, ca.SX(ca.DM(coefficients))
        n, m, plant = c.nv, self.rows, p[: self.robot.p.numel(), :]
        mean = ca.Function("mean", [c.t, c.q, self.robot.p], [c.N])

        def follow(t: ca.SX, h: ca.SX, x: ca.SX, carried: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
            q, v, d, a = x[: c.nq, :], x[c.nq :, :], carried[:n, :], carried[n:, :]
            ahead = v + h / 2 * a
            rate = ca.SX(0, 1) if c.are_rates else mean.call([t, q, plant])[0] @ ahead
            guess = ca.vertcat(ahead, ca.SX.zeros(m), rate)
            z, left = iterated(lambda z: newton.call([z, t, h, alpha, q, v, d, a, p]), guess, n, h, q)
            w = z[:n, :]
            a1 = after_acceleration(alpha, h, w, v, a)
            v1 = v + h * (1 - alpha[3]) * a + h * alpha[3] * a1
            d1 = ((1 - alpha[0]) * a1 + alpha[0] * a - alpha[1] * d) / (1 - alpha[1])
            return ca.vertcat(q + h * (w if c.are_rates else z[n + m :, :]), v1), ca.vertcat(d1, a1), left

        return follow


def after_acceleration(alpha: ca.SX, h: ca.SX, w: ca.SX, v0: ca.SX, a0: ca.SX) -> ca.SX:
    """a₁ of w = v₀ + h ((1/2 − β) a₀ + β a₁), shape (nv,).

    Args:
        alpha: α_m, α_f, β and γ.
        h: step [s].
        w: displacement over h, shape (nv,).
        v0: velocities at the start, shape (nv,).
        a0: a at the start, shape (nv,).
    """
    return (w - v0 - h * (0.5 - alpha[2]) * a0) / (h * alpha[2])
