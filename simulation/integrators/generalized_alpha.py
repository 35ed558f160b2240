"""The generalized-α method for stiff closed chains: exact positions on the constraints, and damping of fast modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite
from ..closed_loop import ClosedLoop
from .implicit_step import ImplicitBlocks, NaturalRowBasis, NewtonStep, Step, StepEquations, is_worth_fusing, iterated
from .integrator import Advance, Integrator, StartRun, step_by_step


@dataclass(frozen=True, eq=False)
class AlphaEquations:
    """Kernels shared by all runs of a loop.

    Attributes:
        robot: the plant.
        newton: the equations of (w, λ h) and, where N is not the identity, of the mean rate of q; see :meth:`of`.
        constrained_matrix: t, q, v, p → [M −Aᵀ; A 0], the matrix of the accelerations' response to a change of force.
        force_in_python: True if the controller's force is computed in Python.
        rows: number of rows of A.
    """

    robot: Robot
    newton: StepEquations
    constrained_matrix: Kernel
    force_in_python: bool
    rows: int

    @classmethod
    def of(cls, loop: ClosedLoop) -> AlphaEquations:
        """Derive the equations.

        The unknown w is the displacement over h. Then all columns of the slope are of order one even for short steps,
        as in the scaling of [Bottasso2007]_, because φ is divided by h and λ multiplied.

        Args:
            loop: plant and controller.
        """
        robot, c, symbolic = loop.robot, loop.robot.coordinates, loop.symbolic()
        A, b = robot.natural_form
        n, m, further = c.nv, A.size1(), 0 if c.are_rates else c.nq
        force = ca.SX.sym("force", n) if symbolic is None else symbolic.applied_force
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
            # Constraints of order 2 include the stable filter that they may have.
            second = h * (A[first:last, :] @ d - b[first:last, :])
            rows.append((residual / h, residual, second)[constraint.order])
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
            newton=StepEquations.of_residual("alpha_step", inputs, residual),
            constrained_matrix=Kernel("alpha_held", state, {"whole": ca.densify(answers)}, compiled=False),
            force_in_python=symbolic is None,
            rows=m,
        )

    def step(self, p: ca.SX, coefficients: tuple[float, float, float, float]) -> Step:
        """Return one step as expressions, with v̇ and a as carried quantities.

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
    """Return a₁ from w = v₀ + h ((1/2 − β) a₀ + β a₁), shape (nv,).

    Args:
        alpha: α_m, α_f, β and γ.
        h: step [s].
        w: displacement over h, shape (nv,).
        v0: velocities at the start, shape (nv,).
        a0: a at the start, shape (nv,).
    """
    return (w - v0 - h * (0.5 - alpha[2]) * a0) / (h * alpha[2])


Array = NDArray[np.float64]
ROUNDING = 1e-12
"""Rounding error of an eigenvalue of a step."""
JUMP = 1e-9
"""Relative change of a force at a sample above which it counts as a jump."""


@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """M v̇₁ + h₁ = f₁ + A₁ᵀλ₁ and φ(q₁) = 0 at the end of each step, of index 3 [ArnoldBruels2007]_.

    q₁ = q₀ + h w, w = v₀ + h ((1/2 − β) a₀ + β a₁), v₁ = v₀ + h ((1 − γ) a₀ + γ a₁), and a follows v̇ by
    (1 − α_m) a₁ + α_m a₀ = (1 − α_f) v̇₁ + α_f v̇₀, with α_m = (2ρ − 1)/(ρ + 1), α_f = ρ/(ρ + 1), γ = 1/2 + α_f − α_m
    and β = (γ + 1/2)²/4 [ChungHulbert1993]_. Oscillations much faster than the step decay by ρ in each step, whatever
    their stiffness, and those that it resolves are hardly damped; damping and controllers' forces are implicit too.
    Where velocities are not the rates of the coordinates, q₁ = q₀ + h N((q₀ + q₁)/2) w, which preserves the length of a
    quaternion.

    The order is 2 in q, v and λ. With natural constraints of order 0, λ has an error of order h at the start, which
    decays by about ρ in each step; ρ = 1 is therefore unsuitable there.

    Natural constraints of order 0 are satisfied in positions, not in velocities: A v has an error of order h² that
    does not grow; :class:`Projected` removes it. Those of order 1, linear in v or not, are satisfied in velocities,
    those of order 2 in accelerations. Dependent rows are ignored if the robot allows them. The mass matrix may be
    singular if the constraints compensate for it. A controller called from Python is handled by the same iteration
    without its derivative; where its output jumps at a sample, so do v̇ and a.

    Attributes:
        spectral_radius: ρ, from 0 for the strongest damping to 1 for none.

    Raises:
        ModelError: for another ρ.
    """

    spectral_radius: float = 0.8

    def __post_init__(self) -> None:
        """Check the radius."""
        if not 0.0 <= finite("spectral_radius", self.spectral_radius) <= 1.0:
            raise ModelError(
                f"spectral_radius must be between 0 (strongest damping) and 1 (no damping), got "
                f"{self.spectral_radius!r}"
            )

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """α_m, α_f, β and γ."""
        rho = self.spectral_radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        return alpha_m, alpha_f, (gamma + 0.5) ** 2 / 4.0, gamma

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Derive and compile the equations of a step and their slope."""
        equations, symbolic, robot = AlphaEquations.of(loop), loop.symbolic(), loop.robot
        blocks, coefficients = None, self.coefficients
        regular = robot.redundant == "refused" or not equations.rows
        if symbolic is not None and loop.correction is None and regular and is_worth_fusing(equations.newton):
            step = equations.step(symbolic.symbols.p, coefficients)
            blocks = ImplicitBlocks(symbolic, step, 2 * robot.coordinates.nv)

        def start(p: Array, step: float, t0: float) -> Advance:
            rate, nq = loop.derivative(p), robot.coordinates.nq

            def motion() -> AlphaMotion:
                return AlphaMotion(equations, loop, coefficients, p, step)

            if blocks is not None and blocks.worth:
                return blocks.start(p, step, t0, motion, lambda t, x: np.tile(rate(t, x)[nq:], 2))
            return step_by_step(loop.observer(p), motion().follow, step, loop.corrector(p), t0)

        return start

    def amplification(self, z: complex) -> float:
        """Spectral radius of a step, of ẏ = λ y for real z and of a damped oscillator for a complex pair."""
        alpha_m, alpha_f, beta, gamma = self.coefficients
        size = abs(z)
        # In these units short steps have a matrix near the identity, whose eigenvalues are well conditioned.
        if z.imag == 0.0:
            x = z.real
            left = np.array([[1.0, -x * gamma], [alpha_f - 1.0, 1.0 - alpha_m]])
            right = np.array([[1.0, x * (1.0 - gamma)], [alpha_f, -alpha_m]])
        else:
            damped = 2.0 * z.real / size
            left = np.array(
                [
                    [1.0, 0.0, -(size**2) * beta],
                    [0.0, 1.0, -size * gamma],
                    [1.0 - alpha_f, -(1.0 - alpha_f) * damped, 1.0 - alpha_m],
                ]
            )
            right = np.array(
                [
                    [1.0, size, size**2 * (0.5 - beta)],
                    [0.0, 1.0, size * (1.0 - gamma)],
                    [-alpha_f, alpha_f * damped, -alpha_m],
                ]
            )
        radius = float(np.abs(np.linalg.eigvals(np.linalg.solve(left, right))).max())
        return 1.0 if 1.0 < radius < 1.0 + ROUNDING and z.real <= 0.0 else radius


class AlphaMotion:
    """The steps of one run.

    Attributes:
        multipliers: λ at the end of the last step, shape (rows,); zeros before the first.
    """

    def __init__(
        self,
        equations: AlphaEquations,
        loop: ClosedLoop,
        coefficients: tuple[float, float, float, float],
        p: Array,
        step: float,
    ) -> None:
        """Start without accelerations.

        Args:
            equations: equations of the loop.
            loop: plant and controller.
            coefficients: α_m, α_f, β and γ.
            p: parameters of plant and controller.
            step: h [s].
        """
        robot = equations.robot
        self._equations, self._h, self._alpha = equations, step, coefficients
        self._nq, self._n, self._m = robot.coordinates.nq, robot.coordinates.nv, equations.rows
        self._further = 0 if robot.coordinates.are_rates else self._nq
        self._plant, self._rate = p[: len(robot.parameters)], loop.derivative(p)
        self._force = loop.force(p) if equations.force_in_python else None
        self._untouched = loop.correction is None
        outside = ("force", -step) if equations.force_in_python else None
        self._newton = NewtonStep(equations.newton, self._n, robot.name, outside)
        given = self._newton.given
        given["h"][:], given["alpha"][:] = step, coefficients
        given["p"][:] = self._plant if equations.force_in_python else p
        self._basis, self._redundant = NaturalRowBasis(robot), robot.redundant == "least-norm"
        self._reached: Array | None = None

    @property
    def multipliers(self) -> Array:
        """Multipliers λ of the natural rows, shape (rows,)."""
        return np.asarray(self._newton.z[self._n : self._n + self._m] / self._h, dtype=np.float64)

    def follow(self, t: float, x: Array) -> Array:
        """Return the state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).

        Raises:
            NotConvergedError, SingularProgramError, NotFiniteError: if the step has no solution.
        """
        nq, n, h, newton = self._nq, self._n, self._h, self._newton
        given, z = newton.given, newton.z
        q, v, d, a = x[:nq], x[nq:], given["d0"], given["a0"]
        if self._reached is None or (self._untouched and x is not self._reached):
            self._begin(t, x)
        elif self._force is not None:
            self._jump(t, x, self._force(t, x))
        given["t"][:], given["q0"][:], given["v0"][:] = t, q, v
        z[:n] = v + h / 2 * a
        basis = self._basis_at(t, q, v)
        plain = np.concatenate([v, np.zeros(self._m), z[n + self._m :]])
        newton.solve(t, h, float(np.abs(q).max()), plain, ask=self._ask(t, q, v, a), basis=basis)
        alpha_m, alpha_f, beta, gamma = self._alpha
        w, after = z[:n], np.empty(nq + n)
        after[:nq] = q + h * (z[n + self._m :] if self._further else w)
        a1 = (w - v - h * (0.5 - beta) * a) / (h * beta)
        after[nq:] = v + h * (1.0 - gamma) * a + h * gamma * a1
        d[:] = ((1.0 - alpha_m) * a1 + alpha_m * a - alpha_f * d) / (1.0 - alpha_f)
        a[:] = a1
        self._reached = after
        return after

    def resume(self, t: float, x: Array, carried: Array) -> None:
        """Continue from a state.

        Args:
            t: time [s].
            x: state, shape (nq + nv,).
            carried: v̇ and a, shape (2 nv,).
        """
        given, z = self._newton.given, self._newton.z
        given["d0"][:], given["a0"][:] = carried[: self._n], carried[self._n :]
        if self._further:
            z[self._n + self._m :] = self._rate(t, x)[: self._nq]
        self._reached = x

    def carried(self) -> Array:
        """Return v̇ and a, shape (2 nv,)."""
        return np.concatenate([self._newton.given["d0"], self._newton.given["a0"]])

    def _ask(self, t: float, q: Array, v: Array, a: Array) -> Callable[[Array], Array] | None:
        """Return the controller's force at the end of the step as a function of the unknowns, or None."""
        if self._force is None:
            return None
        force, h, n = self._force, self._h, self._n
        _, _, beta, gamma = self._alpha
        still = v + h * (1.0 - gamma) * a - gamma / beta * (v + h * (0.5 - beta) * a)

        def ask(z: Array) -> Array:
            moved = z[n + self._m :] if self._further else z[:n]
            return force(t + h, np.concatenate([q + h * moved, still + gamma / beta * z[:n]]))

        return ask

    def _begin(self, t: float, x: Array) -> None:
        """Initialize v̇ and a with the accelerations of the motion."""
        nq, given = self._nq, self._newton.given
        rate = self._rate(t, x)
        given["d0"][:] = given["a0"][:] = rate[nq:]
        self._newton.z[:] = 0.0
        if self._further:
            self._newton.z[self._n + self._m :] = rate[:nq]
        if self._force is not None:
            given["force"][:] = self._force(t, x)

    def _jump(self, t: float, x: Array, force: Array) -> None:
        """Update the accelerations if the controller's output changed at the sample."""
        given, n = self._newton.given, self._n
        change = force - given["force"]
        if not np.abs(change).max() > JUMP * np.abs(force).max():
            return
        q, v = x[: self._nq], x[self._nq :]
        whole = np.atleast_2d(self._equations.constrained_matrix(t, q, v, self._plant)[0])
        right = np.concatenate([change, np.zeros(self._m)])
        moved = np.linalg.lstsq(whole, right, rcond=1e-10)[0][:n]
        given["d0"][:] += moved
        given["a0"][:] += moved

    def _basis_at(self, t: float, q: Array, v: Array) -> Array | None:
        if not self._redundant or not self._m:
            return None
        whole = np.atleast_2d(self._equations.constrained_matrix(t, q, v, self._plant)[0])
        return self._basis.at(t, whole[self._n :, : self._n], self._further)
