"""A symplectic integrator with constraints: the discrete Euler–Lagrange equations of the midpoint Lagrangian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.hamiltonian.canonical_form import canonical_form
from ...robots.manifold.manifold import Manifold
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, SingularProgramError
from ...symbolic.linear_algebra import Lu
from ..closed_loop import ClosedLoop
from .implicit_step import (
    ImplicitBlocks,
    NaturalRowBasis,
    NewtonStep,
    Step,
    StepEquations,
    is_worth_fusing,
    iterated,
    largest,
)
from .integrator import Advance, Integrator, StartRun, step_by_step

HARM = 1e-9
"""Relative change of velocities by a second solution above which a step without pivoting counts as failed."""


@dataclass(frozen=True, eq=False)
class VariationalEquations:
    """Expressions shared by all runs of a loop.

    Attributes:
        robot: the plant.
        newton: the equations of (v, λ) with their slope; see :meth:`of`.
        momentum: t, q, v, p → ∂L/∂v, shape (nv,).
        ends: t, q, p → [M −Aᵀ; A 0] and (a, c), with the momenta M v + a and the rows A v + c.
        force_in_python: True if the controller's force is computed in Python.
        position_rows: number of rows of order 0; they come first.
        rows: number of all rows.
    """

    robot: Robot
    newton: StepEquations
    momentum: StepEquations
    ends: StepEquations
    force_in_python: bool
    position_rows: int
    rows: int

    @classmethod
    def of(cls, loop: ClosedLoop) -> VariationalEquations:
        """Derive the equations.

        With q_m = q₀ + h v/2 and q₁ = q₀ + h v: P(q_m, v) − h/2 G(q_m, v) = p₀ + A₀ᵀλ, φ(q₁) = 0, ψ(q_m, v) = 0, where
        P = ∂L/∂v and G = ∂L/∂q + Q collects everything that changes the momenta except reactions.

        Args:
            loop: plant and controller.

        Raises:
            ModelError: for velocities that are not the rates of the coordinates, natural constraints of order 2 or not
                linear in the velocities, or a plant that has no canonical form.
        """
        robot, c = loop.robot, loop.robot.coordinates
        manifold = _manifold(robot)
        form, symbolic = canonical_form(robot), loop.symbolic()
        n, m, m0 = c.nv, len(manifold.rows), manifold.position_residual.numel()
        force = ca.SX.sym("force", n) if symbolic is None else symbolic.applied_force
        p = robot.p if symbolic is None else symbolic.symbols.p
        z, h, A0 = ca.SX.sym("z", n + m), ca.SX.sym("h"), ca.SX.sym("A0", m, n)
        q0, p0 = ca.SX.sym("q0", n), ca.SX.sym("p0", n)
        v, lam = z[:n, :], z[n:, :]
        outside = {"force": force} if symbolic is None else {}
        # By a call, not by substitution, so that common parts of P and G are computed once.
        moving = [form.momentum, form.free_rate + force, manifold.velocity_residual[m0:, :]]
        middle = ca.Function("middle", [c.t, c.q, c.v, p, *outside.values()], moving, {"cse": True})
        P, G, psi = middle.call([c.t + h / 2, q0 + h / 2 * v, v, p, *outside.values()])
        end = ca.Function("end", [c.t, c.q, robot.p], [manifold.position_residual])
        phi = end.call([c.t + h, q0 + h * v, robot.p])[0]
        residual = ca.vertcat(P - h / 2 * G - p0 - A0.T @ lam, phi / h, psi)
        inputs = {"z": z, **outside, "t": c.t, "h": h, "q0": q0, "p0": p0}
        inputs |= ({"A0": A0} if m else {}) | {"p": p}
        A, still = manifold.A, ca.SX.zeros(n)
        rest = ca.vertcat(form.linear, ca.substitute(manifold.velocity_residual, c.v, still))
        whole = ca.vertcat(ca.horzcat(robot.mass_matrix, -A.T), ca.horzcat(A, ca.SX.zeros(m, m)))
        place = {"t": c.t, "q": c.q}
        return cls(
            robot=robot,
            newton=StepEquations.of_residual("variational_step", inputs, residual),
            momentum=StepEquations("variational_momentum", {**place, "v": c.v, "p": robot.p}, {"P": form.momentum}),
            ends=StepEquations("variational_ends", {**place, "p": robot.p}, {"whole": whole, "rest": rest}),
            force_in_python=symbolic is None,
            position_rows=m0,
            rows=m,
        )

    def step(self, p: ca.SX) -> Step:
        """Return one step as expressions, with the velocity at the middle of the last one as carried quantity.

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
            right, factors = ca.vertcat(momenta, ca.SX.zeros(m)) - rest, Lu.of(whole)
            found = factors.solve(right)
            better = factors.solve(right - whole @ found)
            # The elimination does not pivot: where that did harm, the step counts as failed.
            harm = largest(better[:n, :]) > HARM * ca.fmax(1, largest(found[:n, :]))
            return ca.vertcat(after, (found + better)[:n, :]), middle, ca.if_else(harm, np.inf, left)

        return follow


def _manifold(robot: Robot) -> Manifold:
    """Return φ and ρ of natural constraints that the method supports."""
    c = robot.coordinates
    if not c.are_rates:
        raise ModelError(
            f"{robot.name}: Variational requires velocities that are the rates of the coordinates, q̇ = v; use "
            "GeneralizedAlpha(), Reduced() or Projected() for quasi-velocities such as a body's angular velocity"
        )
    second = [repr(constraint.name) for constraint in robot.natural if constraint.order == 2]
    if second:
        raise ModelError(
            f"{robot.name}: Variational supports natural constraints of order 0 and 1, but these have order 2: "
            f"{', '.join(second)}; use RK4, DOP853 or GeneralizedAlpha"
        )
    manifold = Manifold.of(robot)
    if ca.depends_on(manifold.A, c.v):
        bent = [repr(k.name) for k in robot.natural if ca.depends_on(ca.jacobian(k.residual(c), c.v), c.v)]
        raise ModelError(
            f"{robot.name}: Variational requires natural constraints of order 1 to be linear in the velocities, which "
            f"{', '.join(bent)} are not; use GeneralizedAlpha(), Reduced() or Projected()"
        )
    return manifold


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variational(Integrator):
    """The action is stationary in discrete time, with L_d(q₀, q₁) = h L(t + h/2, (q₀ + q₁)/2, (q₁ − q₀)/h).

    In momenta, p₀ + A₀ᵀλ = −∂L_d/∂q₀ and p₁ = ∂L_d/∂q₁ + A₁ᵀμ: λ puts q₁ on the natural constraints φ = 0, μ puts the
    velocity that belongs to p₁ on φ̇ = 0, as in RATTLE, for any M(q) [MarsdenWest2001]_, [HairerLubichWanner2006]_. The
    order is 2. If all forces are those of L, the step is symplectic and time-reversible: the energy oscillates without
    drift, and momenta of symmetries are conserved. Forces of controllers, dissipation and other forces outside L act at
    the middle of the step, half on each of its ends, by the discrete Lagrange–d'Alembert principle. Without natural
    constraints it is the implicit midpoint rule in (q, p).

    Natural constraints of order 1, linear in the velocities, are satisfied at the middle of each step and at its ends;
    the step is reversible, but nonholonomic motions have no symplectic form to preserve [Cortes2001]_. Dependent rows
    have reactions of least norm if the robot allows them. Singular positions end the run with an error, and so do steps
    in which Newton's method does not converge. A controller called from Python is evaluated in the middle of a step by
    the same iteration without its derivative.
    """

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Derive and compile the equations of a step and their slope.

        Raises:
            ModelError: for velocities that are not the rates of the coordinates, natural constraints of order 2 or not
                linear in the velocities, or a plant that has no canonical form.
        """
        equations, symbolic = VariationalEquations.of(loop), loop.symbolic()
        n, robot = loop.robot.coordinates.nv, loop.robot
        blocks = None
        regular = robot.redundant == "refused" or not equations.rows
        if symbolic is not None and loop.correction is None and regular and is_worth_fusing(equations.newton):
            blocks = ImplicitBlocks(symbolic, equations.step(symbolic.symbols.p), n)

        def start(p: Array, step: float, t0: float) -> Advance:
            def motion() -> VariationalMotion:
                return VariationalMotion(equations, loop, p, step)

            if blocks is not None and blocks.worth:
                return blocks.start(p, step, t0, motion, lambda _, x: x[n:])
            return step_by_step(loop.observer(p), motion().follow, step, loop.corrector(p), t0)

        return start

    def amplification(self, z: complex) -> float:
        """Return |R(z)|, R(z) = (1 + z/2) / (1 − z/2), of the implicit midpoint rule."""
        return abs(2 + z) / abs(2 - z) if z != 2 else np.inf


class VariationalMotion:
    """The steps of one run, from Python."""

    def __init__(self, equations: VariationalEquations, loop: ClosedLoop, p: Array, step: float) -> None:
        """Start without a state.

        Args:
            equations: equations of the loop.
            loop: plant and controller.
            p: parameters of plant and controller.
            step: h [s].
        """
        robot = equations.robot
        self._robot, self._h, self._untouched = robot, step, loop.correction is None
        self._force = loop.force(p) if equations.force_in_python else None
        self._n, self._m, self._plant = robot.coordinates.nv, equations.rows, p[: len(robot.parameters)]
        self._momentum, self._ends = equations.momentum.kernel, equations.ends.kernel
        outside = ("force", -step / 2) if equations.force_in_python else None
        self._newton = NewtonStep(equations.newton, self._n, robot.name, outside)
        self._newton.given["h"][:] = step
        self._newton.given["p"][:] = self._plant if equations.force_in_python else p
        self._basis, self._still = NaturalRowBasis(robot), np.zeros(self._m)
        self._reached: Array | None = None
        self._rows_basis: Array | None = None

    def follow(self, t: float, x: Array) -> Array:
        """Return the state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (2 nv,).

        Raises:
            NotConvergedError, SingularProgramError, NotFiniteError: if the step has no solution.
        """
        n, h, newton = self._n, self._h, self._newton
        q, v, z = x[:n], x[n:], newton.z
        given = newton.given
        if x is not self._reached:
            self._begin(t, x)
            if self._reached is None or self._untouched:
                z[:n], z[n:] = v, 0.0
        else:
            z[:n] = 2.0 * v - z[:n]
        given["t"][:], given["q0"][:] = t, q
        newton.solve(
            t, h, float(np.abs(q).max()), np.concatenate([v, self._still]), ask=self._ask(t, q), basis=self._rows_basis
        )
        middle, after = z[:n], np.empty(2 * n)
        P = np.atleast_1d(self._momentum(t + h / 2, q + h / 2 * middle, middle, self._plant)[0])
        # P − p₀ − A₀ᵀλ is half of the change of the momenta: add it once more.
        momenta = 2.0 * P - given["p0"]
        if self._m:
            momenta -= given["A0"].reshape(self._m, n).T @ z[n:]
        after[:n] = q + h * middle
        whole, rest = self._ends(t + h, after[:n], self._plant)
        after[n:] = self._velocity(t + h, np.atleast_2d(whole), np.atleast_1d(rest), momenta)
        self._reached = after
        return after

    def _ask(self, t: float, q: Array) -> Callable[[Array], Array] | None:
        """Return the controller's force at the middle of the step as a function of the unknowns, or None."""
        if self._force is None:
            return None
        force, n, h = self._force, self._n, self._h
        return lambda z: force(t + h / 2, np.concatenate([q + h / 2 * z[:n], z[:n]]))

    def _velocity(self, t: float, whole: Array, rest: Array, momenta: Array) -> Array:
        """Solve M v + a − Aᵀμ = p and A v + c = 0 for v."""
        n = self._n
        right = -rest
        right[:n] += momenta
        self._rows_basis = basis = self._basis.at(t, whole[n:, :n])
        try:
            if basis is None:
                found = np.linalg.solve(whole, right)
            else:
                found = basis @ np.linalg.solve(basis.T @ whole @ basis, basis.T @ right)
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self._robot.name}: at t = {t:g} s natural constraints depend on each other, or inertia is missing. "
                "Use integrator=Reduced(), which passes through singular positions; or another start"
            ) from error
        v = np.asarray(found[:n], dtype=np.float64)
        self._keep(whole, rest, v)
        return v

    def resume(self, t: float, x: Array, carried: Array) -> None:
        """Continue from a state.

        Args:
            t: time [s].
            x: state, shape (2 nv,).
            carried: velocity at the middle of the last step, shape (nv,).
        """
        self._begin(t, x)
        self._newton.z[: self._n], self._newton.z[self._n :] = carried, 0.0
        self._reached = x

    def carried(self) -> Array:
        """Return the velocity at the middle of the last step, shape (nv,)."""
        return self._newton.z[: self._n].copy()

    def _begin(self, t: float, x: Array) -> None:
        n = self._n
        whole, rest = self._ends(t, x[:n], self._plant)
        whole, rest = np.atleast_2d(whole), np.atleast_1d(rest)
        self._rows_basis = self._basis.at(t, whole[n:, :n])
        self._keep(whole, rest, x[n:])

    def _keep(self, whole: Array, rest: Array, v: Array) -> None:
        n, given = self._n, self._newton.given
        given["p0"][:] = whole[:n, :n] @ v + rest[:n]
        if self._m:
            given["A0"][...] = whole[n:, :n].reshape(given["A0"].shape)
