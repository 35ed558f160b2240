"""Multipliers in canonical variables: coordinates and momenta."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...robots.hamiltonian.canonical_form import CanonicalForm, canonical_form
from ...symbolic.errors import ModelError
from ...symbolic.linear_algebra import Ldl
from ..program.program import Program
from .forward_dynamics import ExplicitDynamics, ForwardDynamics, nan_where_singular
from .ldl import LdlMultipliers
from .method import Capability, FactorizationMethod, MultiplierMethod


@dataclass(frozen=True, eq=False)
class CanonicalMotion:
    """v̇ = S + H_pp R: accelerations in coordinates and momenta, all expressions in ``form.momenta`` in place of v.

    With q̇ = N H_p and ṗ = R + Q − H_q − D_v the velocities v = H_p(t, q, p) have the derivative
    S + H_pp R, S = H_pq N H_p + H_pp (Q − H_q − D_v) + H_pt. It is the bracket in B₁ and B₂ of [Matukhina]_ (15), which
    the article leaves undefined: B₁ = Φ_q S + (d/dt Φ_q) H_p + d/dt Φ_t and B₂ = Ψ_v S + Ψ_q H_p + Ψ_t.

    Attributes:
        form: the robot's canonical form.
        velocity: H_p, shape (nv,).
        momentum_rate: ṗ at R = 0, Q − H_q − D_v, shape (nv,).
        mobility: H_pp, shape (nv, nv).
        free: S, shape (nv,).
    """

    form: CanonicalForm
    velocity: ca.SX
    momentum_rate: ca.SX
    mobility: ca.SX
    free: ca.SX

    @classmethod
    def of(cls, form: CanonicalForm) -> CanonicalMotion:
        """Differentiate the Hamiltonian.

        Args:
            form: canonical form of a robot with a regular mass matrix.
        """
        c = form.robot.coordinates
        # H = ½ (p − s)ᵀ z* − L₀, the same function as pᵀz* − L(z*) with fewer operations in its derivatives.
        H, p = ca.dot(form.momenta - form.shift, form.velocity) / 2 - form.constant, form.momenta
        Hpp, Hp = ca.hessian(H, p)
        rate = form.in_momenta(form.free_rate)
        if c.are_rates:
            # ∂L/∂q = −∂H/∂q, so that the rest of the rate besides −H_q is Q − D_v.
            others = form.free_rate - ca.gradient(form.lagrangian, c.q)
            rate = form.in_momenta(others) - ca.gradient(H, c.q)
        moved = ca.jtimes(Hp, ca.vertcat(c.q, c.t), ca.vertcat(c.N @ Hp, ca.SX(1)))
        return cls(form, ca.densify(Hp), ca.densify(rate), ca.densify(Hpp), ca.densify(moved + Hpp @ rate))

    def in_velocities(self, expression: ca.SX) -> ca.SX:
        """Substitute p = ∂L/∂v in an expression in momenta.

        Args:
            expression: the expression, any shape.
        """
        return ca.substitute(expression, self.form.momenta, self.form.momentum)


@dataclass(frozen=True, eq=False)
class _Hessian:
    matrix: ca.SX

    def forward(self, right: ca.SX) -> ca.SX:
        return right

    def weighted(self, half: ca.SX) -> ca.SX:
        return self.matrix @ half

    def rooted(self, half: ca.SX) -> ca.SX:
        factor = Ldl.of(self.matrix)
        return ca.diag(ca.sqrt(factor.diagonal)) @ (factor.lower.T @ half)

    def backward(self, half: ca.SX) -> ca.SX:
        return half

    def solve(self, right: ca.SX) -> ca.SX:
        return self.matrix @ right


class CanonicalMultipliers(FactorizationMethod):
    """λ = K⁻¹ (A − B) with K = Θ H_pp Θᵀ, [Matukhina]_ eq. (15), all derived from H(t, q, p), then p = ∂L/∂v inserted.

    A are the right sides of the perturbation equations, B the values of the rows without control; see
    :class:`CanonicalMotion` and :func:`~erugin.controllers.canonical_program`. Natural rows are added to the article's:
    their reactions are solved for in the same way. The inverse of the mass matrix is ∂²H/∂p² and M itself is never
    formed, so this method serves to check the others rather than for speed.

    Attributes:
        method: method that then solves K λ = A − B.
    """

    def __init__(self, method: MultiplierMethod | None = None) -> None:
        """Fix the method for K.

        Args:
            method: LDLᵀ if not given; LeastNormMultipliers or ProximalMultipliers for dependent rows.

        Raises:
            ModelError: for a method that replaces M.
        """
        super().__init__(LdlMultipliers() if method is None else method)

    @property
    def supports(self) -> frozenset[Capability]:
        """Capabilities of ``method``, except singular mass matrices."""
        return self.method.supports - {Capability.HELD_INERTIA}

    def forward_dynamics(self, program: Program, theta: ca.SX, beta: ca.SX) -> ForwardDynamics:
        """Return the dynamics with H_pp in place of M⁻¹ and S in place of the free acceleration.

        Raises:
            ModelError: for a robot without a canonical form, or with a singular mass matrix.
        """
        del theta, beta
        motion = CanonicalMotion.of(regular_canonical_form(program))
        mobility, free = motion.in_velocities(motion.mobility), motion.in_velocities(motion.free)
        return ExplicitDynamics(program.robot, _Hessian(mobility), nan_where_singular(program.robot.factor, free))


def regular_canonical_form(program: Program) -> CanonicalForm:
    """Return the canonical form of a program's robot.

    Args:
        program: the program.

    Raises:
        ModelError: if the robot has no canonical form, or a mass matrix that is singular in every position.
    """
    robot = program.robot
    if np.any(robot.augmentation.full()):
        raise ModelError(
            f"the mass matrix of {robot.name} is singular and compensated by natural constraints, so velocities do not "
            "follow from momenta alone: use LdlMultipliers or UdwadiaPhohomsiriMultipliers"
        )
    return canonical_form(robot)
