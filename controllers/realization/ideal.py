"""Ideal realisation: any generalized force can be had."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ..multipliers import MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, relative_pivots


class Ideal(Realization):
    """R = Θᵀλ with Θ M̂ Θᵀ λ = β − Θ a₀, Matukhina eq. (6) and (15).

    a₀ is the acceleration without control and M̂ the mobility, M⁻¹ where there are no natural constraints. Of all forces
    that realise the program it is the least in Gauss's sense: it changes the free motion least in the metric M.
    """

    name = "ideal"
    applies_force = True

    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion of a program."""
        robot, theta = program.robot, program.theta
        if theta.size1() > robot.coordinates.nv:
            raise ModelError(
                f"the program has {theta.size1()} rows ({', '.join(program.rows)}), more than the "
                f"{robot.coordinates.nv} velocities of {robot.name}: no force can satisfy all of them"
            )
        free, reactions = robot.drift
        reach, pull = robot.mobility(theta.T)
        K = theta @ reach
        found = method.solve(K, program.beta - theta @ free)
        lam = found.values
        return Realized(
            multipliers=lam,
            force=theta.T @ lam,
            input=ca.SX(0, 1),
            acceleration=free + reach @ lam,
            reactions=reactions + pull @ lam,
            pivots=found.pivots,
            relative_pivots=relative_pivots(program, K, found.pivots),
        )
