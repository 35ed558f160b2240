"""Actuated realisation: the force must come from the robot's inputs."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.ldl import Ldl
from ...symbolic.samples import samples
from ..multipliers import MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, relative_pivots

DEPENDENT = 1e-11
"""Share of what it is made of below which a number counts as rounding."""


class Actuated(Realization):
    """R = B u with Θ M̂ B u = β − Θ a₀: the inputs produce exactly the accelerations that the program asks for.

    With more inputs than rows, u is the one nearest to the ideal force: least uᵀWu with W = Bᵀ M̂ B, so that B u = Θᵀλ
    wherever the inputs can produce it. Where W is singular in every position (more inputs than degrees of freedom, a
    drive along a link of fixed length), least |u|² is taken.
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
        gain, weight = theta @ reach, B.T @ reach
        idle = self._inputs_are_dependent(program, gain, weight)
        back = gain.T if idle else Ldl.of(weight).solve(gain.T)
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

    def _inputs_are_dependent(self, program: Program, gain: ca.SX, weight: ca.SX) -> bool:
        """Whether W is singular at all sampled places; raises ModelError for a row that no input reaches at any."""
        robot, c = program.robot, program.robot.coordinates
        states = {"t": c.t, "q": c.q, "v": c.v}
        singular, silent = True, np.ones(gain.size1(), dtype=np.bool_)
        B = robot.input_matrix
        # What each input would do without natural constraints is the scale for what they leave of it.
        free = ca.diag(B.T @ robot.factor.solve(B))
        looked_at = {"W": weight, "gain": gain, "theta": program.theta, "reach": robot.mobility(B)[0], "free": free}
        for W, rows, theta, reach, free_alone in samples(looked_at, states, program.parameters):
            if not all(np.isfinite(matrix).all() for matrix in (W, rows, theta, reach, free_alone)):
                return False
            scale = np.sqrt(np.abs(free_alone[:, 0]))
            scale = np.where(scale > 0.0, scale, 1.0)
            values = np.linalg.eigvalsh(W / np.outer(scale, scale)) if W.size else np.ones(1)
            singular = singular and bool(values[0] <= DEPENDENT)
            # Rounding in Θ M̂ B is of the size of its factors.
            silent &= np.abs(rows).max(axis=1, initial=0.0) <= DEPENDENT * (np.abs(theta) @ np.abs(reach)).max(axis=1)
        if silent.any():
            names = ", ".join(repr(name) for name, zero in zip(program.rows, silent, strict=True) if zero)
            raise ModelError(
                f"no input of {robot.name} ({', '.join(robot.input_names)}) acts on {names}: what the row asks of the "
                "accelerations does not depend on them. They may reach it only after more derivatives, as a voltage "
                "does through its current; or not at all"
            )
        return singular
