"""A symplectic integrator with constraints: the discrete Euler–Lagrange equations of the midpoint Lagrangian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import SingularProgramError
from ..closed_loop import ClosedLoop
from .implicit_blocks import ImplicitBlocks, is_worth_fusing
from .integrator import Advance, Integrator, StartRun, step_by_step
from .newton_step import NewtonStep
from .row_basis import RowBasis
from .variational_equations import VariationalEquations

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Variational(Integrator):
    """The action is stationary in discrete time, with L_d(q₀, q₁) = h L(t + h/2, (q₀ + q₁)/2, (q₁ − q₀)/h).

    In momenta, p₀ + A₀ᵀλ = −∂L_d/∂q₀ and p₁ = ∂L_d/∂q₁ + A₁ᵀμ: λ puts q₁ on the natural constraints φ = 0, μ puts the
    velocity that belongs to p₁ on φ̇ = 0, as in RATTLE, for any M(q) [MarsdenWest2001]_, [HairerLubichWanner2006]_. The
    order is 2. Without forces but those of L the step is symplectic and its own inverse under reversal of time: the
    energy oscillates and does not drift, and the momenta of symmetries stay what they are. Forces of controllers,
    dissipation and all else that is not in L act at the middle of the step, half on each of its ends, by the discrete
    principle of Lagrange and d'Alembert. Without natural constraints it is the implicit midpoint rule in (q, p).

    Natural constraints of order 1, linear in the velocities, hold at the middle of each step and at its ends; the step
    is reversible, but nonholonomic motions have no symplectic form to keep [Cortes2001]_. Rows that depend on others
    have reactions of least norm where the robot allows them. Singular positions end the run by name, and so do steps in
    which Newton's method does not converge. What a controller called from Python does in the middle of a step is found
    by the same iteration without its derivative.
    """

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """The equations of a step and their slope, compiled.

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
        """R(z) = (1 + z/2) / (1 − z/2), that of the implicit midpoint rule."""
        return abs(2 + z) / abs(2 - z) if z != 2 else np.inf


class VariationalMotion:
    """The steps of one run, from Python."""

    def __init__(self, equations: VariationalEquations, loop: ClosedLoop, p: Array, step: float) -> None:
        """Nothing known yet.

        Args:
            equations: of the loop.
            loop: plant and controller.
            p: parameters of plant and controller.
            step: h [s].
        """
        robot = equations.robot
        self._robot, self._h, self._untouched = robot, step, loop.correction is None
        self._force = loop.force(p) if equations.asks else None
        self._n, self._m, self._plant = robot.coordinates.nv, equations.rows, p[: len(robot.parameters)]
        self._momentum, self._ends = equations.momentum.kernel, equations.ends.kernel
        outside = ("force", -step / 2) if equations.asks else None
        self._newton = NewtonStep(equations.newton, self._n, robot.name, outside)
        self._newton.given["h"][:] = step
        self._newton.given["p"][:] = self._plant if equations.asks else p
        self._basis, self._still = RowBasis(robot), np.zeros(self._m)
        self._reached: Array | None = None
        self._rows_basis: Array | None = None

    def follow(self, t: float, x: Array) -> Array:
        """The state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (2 nv,).

        Raises:
            NotConvergedError, SingularProgramError, NotFiniteError: if no state is found.
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
        # The half of what changes the momenta that is in P − p₀ − A₀ᵀλ once more.
        momenta = 2.0 * P - given["p0"]
        if self._m:
            momenta -= given["A0"].reshape(self._m, n).T @ z[n:]
        after[:n] = q + h * middle
        whole, rest = self._ends(t + h, after[:n], self._plant)
        after[n:] = self._velocity(t + h, np.atleast_2d(whole), np.atleast_1d(rest), momenta)
        self._reached = after
        return after

    def _ask(self, t: float, q: Array) -> Callable[[Array], Array] | None:
        """The controller's force at the middle of the step, for the unknowns."""
        if self._force is None:
            return None
        force, n, h = self._force, self._n, self._h
        return lambda z: force(t + h / 2, np.concatenate([q + h / 2 * z[:n], z[:n]]))

    def _velocity(self, t: float, whole: Array, rest: Array, momenta: Array) -> Array:
        """v of M v + a − Aᵀμ = p and A v + c = 0."""
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
                "Take integrator=Reduced(), which goes through singular positions; or another start"
            ) from error
        v = np.asarray(found[:n], dtype=np.float64)
        self._keep(whole, rest, v)
        return v

    def resume(self, t: float, x: Array, carried: Array) -> None:
        """Go on from a state.

        Args:
            t: time [s].
            x: state, shape (2 nv,).
            carried: velocity at the middle of the last step, shape (nv,).
        """
        self._begin(t, x)
        self._newton.z[: self._n], self._newton.z[self._n :] = carried, 0.0
        self._reached = x

    def carried(self) -> Array:
        """Velocity at the middle of the last step, shape (nv,)."""
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
