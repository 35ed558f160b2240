"""The canonical form of a robot: coordinates and momenta instead of coordinates and velocities."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.sampling import sample_parameters
from ..evaluator import Evaluator
from ..robot import Robot

MISFIT = 1e-6
"""Largest relative error of velocities recovered from their momenta when a form is built."""


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """q̇ = N z* and ṗ = φ + B u + Aᵀμ, with p = ∂L/∂v, L = T − V and z* = arg max_z [pᵀz − L(t, q, z)].

    With L = ½ vᵀM v + aᵀv + L₀ the maximum is a quadratic programme, z* = M⁻¹(p − a), and its value is the Hamiltonian
    H(t, q, p) = ½ (p − a)ᵀ M⁻¹ (p − a) − L₀. The free rate φ(t, q, v) = d/dt(∂L/∂v) at v̇ = 0, less the bias h, holds
    every force that is neither an input nor a reaction.

    Where N = I, p are the generalized momenta, φ = ∂L/∂q + Q with the dissipation in Q, and ∂L/∂q = −∂H/∂q, so that
    q̇ = ∂H/∂p, ṗ = −∂H/∂q + Q + B u + Aᵀμ. In quasi-velocities, N ≠ I, p are the quasi-momenta: z* = ∂H/∂p and
    q̇ = N ∂H/∂p still hold, while φ = −Nᵀ∂H/∂q + Q plus gyroscopic terms of no power. In both cases
    dH/dt = −∂L/∂t + (Q + B u + Aᵀμ)ᵀz*. H is T + V only if T is a quadratic form of v.

    If M is singular in every position, and natural constraints A v = c make the motion unique, the maximum is over the
    velocities that they admit: K = M + AᵀCA and s = a − AᵀC c replace M and a in z* = K⁻¹(p − s), for any C > 0; see
    :attr:`Robot.augmentation`. Otherwise K = M and s = a.

    Expressions marked (velocities) are in the robot's own symbols, those marked (momenta) in ``momenta`` instead of v.
    See [DunskayaPyatnitsky1996]_ eqs. (2.1)–(2.9).

    Attributes:
        robot: robot with t, q, v, u and the parameters.
        momenta: symbols of the momenta, shape (nv,), each in the unit of the action divided by that of its coordinate.
    """

    robot: Robot
    momenta: ca.SX

    @functools.cached_property
    def lagrangian(self) -> ca.SX:
        """L = T − V (velocities) [J]."""
        return self.robot.kinetic_energy - self.robot.potential_energy

    @functools.cached_property
    def momentum(self) -> ca.SX:
        """p = ∂L/∂v = M v + a (velocities), shape (nv,).

        By reverse differentiation of T, at a small multiple of the cost of T, so O(n) for a chain.
        """
        return ca.densify(ca.gradient(self.robot.kinetic_energy, self.robot.v))

    @functools.cached_property
    def linear(self) -> ca.SX:
        """a(t, q), the coefficients of v in L, shape (nv,); zero unless the reference frame moves in time."""
        return ca.densify(self._at_rest(self.momentum))

    @functools.cached_property
    def constant(self) -> ca.SX:
        """L₀(t, q) = L at v = 0 [J]."""
        return self._at_rest(self.lagrangian)

    @functools.cached_property
    def matrix(self) -> ca.SX:
        """K of the quadratic programme, shape (nv, nv); M unless that is singular."""
        if self.inertia_constraints is None:
            return self.robot.mass_matrix
        A, _, C = self.inertia_constraints
        return self.robot.mass_matrix + A.T @ ca.diag(C) @ A

    @functools.cached_property
    def shift(self) -> ca.SX:
        """s, the momenta of z* = 0, shape (nv,); a unless M is singular."""
        if self.inertia_constraints is None:
            return self.linear
        A, c, C = self.inertia_constraints
        return self.linear - A.T @ (C * c)

    @functools.cached_property
    def product(self) -> ca.SX:
        """K v (velocities), shape (nv,), from ∂T/∂v without the matrix."""
        moved = self.momentum if self.linear.is_zero() else self.momentum - self.linear
        if self.inertia_constraints is None:
            return moved
        A, _, C = self.inertia_constraints
        return moved + A.T @ (C * (A @ self.robot.v))

    @functools.cached_property
    def velocity(self) -> ca.SX:
        """z* = K⁻¹(p − s) (momenta), shape (nv,), by the robot's factorized mass matrix."""
        return self.robot.factor.solve(self.momenta - self.shift)

    @functools.cached_property
    def hamiltonian(self) -> ca.SX:
        """H = pᵀz* − L(t, q, z*) (momenta) [J]."""
        return ca.dot(self.momenta, self.velocity) - self.in_momenta(self.lagrangian)

    @functools.cached_property
    def free_rate(self) -> ca.SX:
        """φ (velocities), shape (nv,): ṗ without inputs and reactions; ∂L/∂q where nothing is dissipated and N = I."""
        c = self.robot.coordinates
        moving = ca.substitute(c.rate(self.momentum), c.a, ca.SX.zeros(c.nv))
        return ca.densify(moving - self.robot.bias)

    def rate_under(self, forces: ca.SX) -> ca.SX:
        """Return ṗ = φ + forces + Aᵀμ (velocities), shape (nv,).

        Args:
            forces: generalized forces in addition to those in h, shape (nv,).
        """
        A, _ = self.robot.natural_form
        rate = self.free_rate + forces
        if A.size1() == 0:
            return rate
        return rate + A.T @ (self.robot.unforced_acceleration[1] + self.robot.mobility(forces)[1])

    @functools.cached_property
    def coordinate_rate(self) -> ca.SX:
        """q̇ = N z* (momenta), shape (nq,)."""
        return self.in_momenta(self.robot.coordinates.N @ self.robot.v)

    @functools.cached_property
    def momentum_rate(self) -> ca.SX:
        """ṗ = φ + B u + Aᵀμ (momenta and inputs), shape (nv,)."""
        return self.in_momenta(self.rate_under(self.robot.input_matrix @ self.robot.u))

    def in_momenta(self, expression: ca.SX) -> ca.SX:
        """Replace v by z* in an expression in velocities of any shape."""
        return ca.substitute(expression, self.robot.v, self.velocity)

    @property
    def symbols(self) -> Mapping[str, ca.SX]:
        """Inputs of a :class:`~erugin.symbolic.Kernel` for expressions in momenta: t, q, momenta, u, p."""
        r = self.robot
        return {"t": r.t, "q": r.q, "momenta": self.momenta, "u": r.u, "p": r.p}

    def evaluate(
        self,
        expression: ca.SX,
        *,
        t: float = 0.0,
        q: ArrayLike | None = None,
        momenta: ArrayLike | None = None,
        u: ArrayLike | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Evaluate an expression in momenta; for loops build a :class:`~erugin.symbolic.Kernel` of :attr:`symbols`.

        Args:
            expression: such as ``form.hamiltonian``. Those in velocities are for :meth:`Robot.evaluate`.
            t: time [s].
            q: coordinates, shape (nq,); may be left out if the expression does not depend on them, as may momenta, u.
            momenta: shape (nv,).
            u: inputs, shape (nu,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            An array of shape () for a scalar, (n,) for a column, else (r, c).

        Raises:
            ShapeError: for a missing argument, a wrong shape, or numbers that are not finite.
            ModelError: if the expression uses a symbol that the form does not have.
        """
        if not isinstance(expression, ca.SX):
            raise ModelError(f"the expression must be a CasADi SX, got {expression!r}")
        known = {symbol.element_hash() for symbol in ca.vertsplit(ca.vertcat(*self.symbols.values()))}
        foreign = sorted({symbol.name() for symbol in ca.symvar(expression) if symbol.element_hash() not in known})
        if foreign:
            raise ModelError(
                f"the expression uses {', '.join(foreign)}, which the canonical form of {self.robot.name} does not "
                "have; expressions in velocities are for Robot.evaluate, or for in_momenta"
            )
        return self._evaluator(expression, t, (q, momenta, u), p)

    @functools.cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self.symbols, self.robot.parameters)

    def _at_rest(self, expression: ca.SX) -> ca.SX:
        return ca.substitute(expression, self.robot.v, ca.SX.zeros(self.robot.coordinates.nv))

    @functools.cached_property
    def inertia_constraints(self) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """A, c and the diagonal of C if natural constraints A v = c replace missing inertia; else None.

        Raises:
            ModelError: if those constraints are not linear in the velocities.
        """
        robot = self.robot
        C = robot.augmentation
        if not np.any(C.full()):
            return None
        c = robot.coordinates
        rows: list[ca.SX] = []
        for constraint in robot.natural:
            residual = constraint.residual(c)
            rows.append(c.rate(residual) if constraint.order == 0 else residual)
        velocities = ca.densify(ca.vertcat(*rows))
        A, _ = robot.natural_form
        if any(constraint.order == 2 for constraint in robot.natural) or ca.depends_on(A, robot.v):
            raise ModelError(
                f"{robot.name} has no canonical form: its mass matrix is singular, and natural constraints that "
                "replace missing inertia must be linear in the velocities"
            )
        return A, -self._at_rest(velocities), ca.SX(C)


def canonical_form(robot: Robot) -> CanonicalForm:
    """Build the equations of motion of a robot in coordinates and momenta.

    Explicit time, terms of T linear in the velocities, dissipation, inputs, natural constraints, quasi-velocities, and
    singular mass matrices completed by natural constraints are supported. The expressions are derived on first use.

    Args:
        robot: robot in coordinates and velocities.

    Raises:
        ModelError: if V depends on the velocities, M is singular and not completed by constraints, or M is not ∂²T/∂v²;
            the last two are checked at one position.
    """
    c = robot.coordinates
    if ca.depends_on(robot.potential_energy, robot.v):
        raise ModelError(
            f"{robot.name}: the potential energy must not depend on the velocities. Put that part into T, with the "
            "other sign (terms linear in v are allowed there), or into the forces"
        )
    names = c.velocity_names
    form = CanonicalForm(robot, ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"p_{name}") for name in names)))
    _require_inverse(form)
    return form


def _require_inverse(form: CanonicalForm) -> None:
    """Raise ModelError unless velocities are recovered from their momenta at one random position."""
    robot = form.robot
    rng = np.random.default_rng(1996)
    sizes = (1, robot.q.numel(), robot.v.numel())
    t, q, v = (rng.uniform(0.2, 0.9, size) for size in sizes)
    p = sample_parameters(robot.parameters, rng)
    state = {"t": robot.t, "q": robot.q, "v": robot.v, "p": robot.p}
    A, c = (
        (ca.SX(0, robot.v.numel()), ca.SX(0, 1)) if form.inertia_constraints is None else form.inertia_constraints[:2]
    )
    to_momenta = Kernel("momentum", state, {"m": form.momentum, "A": A, "c": c}, compiled=False)
    to_velocities = Kernel("velocity", dict(form.symbols), {"v": form.velocity}, compiled=False)
    _, rows, right = to_momenta(t, q, v, p)
    if right.size:
        # Only velocities that the constraints admit can be recovered.
        rows = rows.reshape(right.size, v.size)
        v = v + np.linalg.lstsq(rows, right.reshape(-1) - rows @ v, rcond=None)[0]
    momenta = np.atleast_1d(to_momenta(t, q, v, p)[0])
    if not np.isfinite(momenta).all():
        return
    miss = np.abs(to_velocities(t, q, momenta, np.zeros(robot.u.numel()), p)[0] - v).max() / np.abs(v).max()
    if not miss <= MISFIT:
        raise ModelError(
            f"{robot.name} has no canonical form: velocities cannot be recovered from their momenta ∂T/∂v (relative "
            f"error {miss:.1g}). Either the mass matrix is singular: add a mass or a natural constraint; or it is not "
            "∂²T/∂v²: T and M must belong to the same bodies"
        )
