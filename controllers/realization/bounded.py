"""Bounded realisation: the force comes from inputs within limits."""

from __future__ import annotations

import casadi as ca

from ..multipliers import LeastNormMultipliers, MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, active_rows, decoupled


class Bounded(Realization):
    """R = B u with u from a quadratic programme: limits first, then Θ a = β as far as they let it be.

    The programme is solved at each tick by :class:`~erugin.controllers.limits.BoundedInputs`; here is the
    motion under any u, the symbol of the robot. λ are the multipliers of least norm of an ideal force that moves the
    rows as B u does, Θ M̂ Θᵀλ = Θ M̂ B u.
    """

    name = "bounded"
    applies_force = False

    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion under inputs, as expressions in ``program.robot.u`` too."""
        robot, theta = program.robot, active_rows(program, program.theta)
        moved = method.movable(program, theta, active_rows(program, program.beta))
        free, reactions = moved.drift
        moves, pull = moved.mobility(robot.input_matrix @ robot.u)
        K = decoupled(program, theta @ moved.mobility(theta.T)[0])
        ones = ca.SX.ones(theta.size1(), 1)
        return Realized(
            multipliers=LeastNormMultipliers().solve(K, theta @ moves).values,
            force=robot.input_matrix @ robot.u,
            input=robot.u,
            acceleration=free + moves,
            reactions=reactions + pull,
            pivots=ones,
            relative_pivots=ones,
        )
