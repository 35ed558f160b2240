"""Actuated realisation: the force must come from the robot's inputs."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.ldl import Ldl
from ..multipliers import MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, relative_pivots


class Actuated(Realization):
    """R = B u with Θ M̂ B u = β − Θ a₀: the inputs produce exactly the accelerations that the program asks for.

    With more inputs than rows, u is the one nearest to the ideal force: least uᵀWu with W = Bᵀ M̂ B, so that B u = Θᵀλ
    wherever the inputs can produce it. With more inputs than degrees of freedom W is singular, and least |u|² is taken.
    M̂ contains the natural constraints, whose reactions cost no actuator.
    """

    name = "actuated"
    applies_force = False

    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Inputs, force and motion of a program."""
        robot, theta, B = program.robot, program.theta, program.robot.input_matrix
        m, nu = theta.size1(), B.size2()
        if m > nu:
            raise ModelError(
                f"the program has {m} rows ({', '.join(program.rows)}), but {robot.name} has only {nu} "
                f"input{'s' * (nu != 1)}{' (' if nu else ''}{', '.join(robot.input_names)}{')' if nu else ''}: drop "
                f"{m - nu} row{'s' * (m - nu != 1)}, or use realization='ideal' to see the force that would be needed"
            )
        free, reactions = robot.drift
        reach, pull = robot.mobility(B)
        gain = theta @ reach
        freedom = robot.coordinates.nv - robot.natural_form[0].size1()
        back = gain.T if nu > freedom else Ldl.of(B.T @ reach).solve(gain.T)
        K = gain @ back
        found = method.solve(K, program.beta - theta @ free)
        u = back @ found.values
        return Realized(
            multipliers=found.values,
            force=B @ u,
            input=ca.densify(u),
            acceleration=free + reach @ u,
            reactions=reactions + pull @ u,
            pivots=found.pivots,
            relative_pivots=relative_pivots(program, K, found.pivots),
        )
