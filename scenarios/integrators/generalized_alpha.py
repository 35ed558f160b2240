"""The generalized-α method for stiff closed chains: positions on the constraints, and damping of what is too fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import finite
from ...symbolic.errors import ModelError
from ..closed_loop import ClosedLoop
from .generalized_alpha_equations import AlphaEquations
from .implicit_blocks import ImplicitBlocks, is_worth_fusing
from .integrator import Advance, Integrator, StartRun, step_by_step
from .newton_step import NewtonStep
from .row_basis import RowBasis

Array = NDArray[np.float64]
ROUNDING = 1e-12
"""What an eigenvalue of a step may be off by."""
JUMP = 1e-9
"""Share of a force by which it has to change at a sample to be followed."""


@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """M v̇₁ + h₁ = f₁ + A₁ᵀλ₁ and φ(q₁) = 0 at the end of each step, of index 3 [ArnoldBruels2007]_.

    q₁ = q₀ + h w, w = v₀ + h ((1/2 − β) a₀ + β a₁), v₁ = v₀ + h ((1 − γ) a₀ + γ a₁), and a follows v̇ by
    (1 − α_m) a₁ + α_m a₀ = (1 − α_f) v̇₁ + α_f v̇₀, with α_m = (2ρ − 1)/(ρ + 1), α_f = ρ/(ρ + 1), γ = 1/2 + α_f − α_m
    and β = (γ + 1/2)²/4 [ChungHulbert1993]_. Oscillations much faster than the step shrink by ρ in each, whatever their
    stiffness, those that it resolves hardly at all; damping and controllers' forces are implicit too. Where velocities
    are not the rates of the coordinates, q₁ = q₀ + h N((q₀ + q₁)/2) w, which keeps the length of a quaternion.

    The order is 2 in q, v and λ. With natural constraints of order 0, λ is off by a share of h at the start; that
    shrinks by about ρ in each step, and so ρ = 1 is of no use there.

    Natural constraints of order 0 hold in places, not in velocities: A v is off by a share of h² that does not grow;
    :class:`Projected` takes it away. Those of order 1, linear in v or not, hold in velocities, those of order 2 in
    accelerations. Rows that depend on others are passed over where the robot allows them. The mass matrix may be
    singular as long as the constraints make up for it. What a controller called from Python does is found by the
    same iteration without its derivative; where its output jumps at a sample, so do v̇ and a.

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
                f"spectral_radius must lie between 0, which damps most, and 1, which does not, got "
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
        """The equations of a step and their slope, compiled."""
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
        # In units in which short steps give a matrix near the identity, whose eigenvalues are then well conditioned.
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
        """Nothing known yet of the accelerations.

        Args:
            equations: of the loop.
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
        self._force = loop.force(p) if equations.asks else None
        self._untouched = loop.correction is None
        self._newton = NewtonStep(equations.newton, self._n, robot.name, ("force", -step) if equations.asks else None)
        given = self._newton.given
        given["h"][:], given["alpha"][:] = step, coefficients
        given["p"][:] = self._plant if equations.asks else p
        self._basis, self._redundant = RowBasis(robot), robot.redundant == "least-norm"
        self._reached: Array | None = None

    @property
    def multipliers(self) -> Array:
        """Of the natural rows, λ."""
        return np.asarray(self._newton.z[self._n : self._n + self._m] / self._h, dtype=np.float64)

    def follow(self, t: float, x: Array) -> Array:
        """The state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).

        Raises:
            NotConvergedError, SingularProgramError, NotFiniteError: if no state is found.
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
        """Go on from a state.

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
        """v̇ and a, shape (2 nv,)."""
        return np.concatenate([self._newton.given["d0"], self._newton.given["a0"]])

    def _ask(self, t: float, q: Array, v: Array, a: Array) -> Callable[[Array], Array] | None:
        """The controller's force at the end of the step, for the unknowns."""
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
        """Accelerations of the motion itself, a among them."""
        nq, given = self._nq, self._newton.given
        rate = self._rate(t, x)
        given["d0"][:] = given["a0"][:] = rate[nq:]
        self._newton.z[:] = 0.0
        if self._further:
            self._newton.z[self._n + self._m :] = rate[:nq]
        if self._force is not None:
            given["force"][:] = self._force(t, x)

    def _jump(self, t: float, x: Array, force: Array) -> None:
        """What the accelerations change by if the controller's output is another one from the sample on."""
        given, n = self._newton.given, self._n
        change = force - given["force"]
        if not np.abs(change).max() > JUMP * np.abs(force).max():
            return
        q, v = x[: self._nq], x[self._nq :]
        whole = np.atleast_2d(self._equations.held(t, q, v, self._plant)[0])
        right = np.concatenate([change, np.zeros(self._m)])
        moved = np.linalg.lstsq(whole, right, rcond=1e-10)[0][:n]
        given["d0"][:] += moved
        given["a0"][:] += moved

    def _basis_at(self, t: float, q: Array, v: Array) -> Array | None:
        if not self._redundant or not self._m:
            return None
        whole = np.atleast_2d(self._equations.held(t, q, v, self._plant)[0])
        return self._basis.at(t, whole[self._n :, : self._n], self._further)
