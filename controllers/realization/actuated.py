"""Actuated realisation: the force must come from the robot's inputs."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.ldl import Ldl
from ...symbolic.samples import samples
from ..multipliers import Movable, MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, active_rows, decoupled, solve, steady_rows, turned

DEPENDENT = 1e-11
"""Share of what it is made of below which a number counts as rounding."""


class Actuated(Realization):
    """R = B u with Θ M̂ B u = β − Θ a₀: the inputs produce exactly the accelerations that the program asks for.

    With more inputs than rows, u is the one nearest to the ideal force: least uᵀWu with W = Bᵀ M̂ B, so that B u = Θᵀλ
    wherever the inputs can produce it. Where W is singular in every position (more inputs than degrees of freedom, a
    drive along a link of fixed length), least |u|² is taken: the rows hold as well, but what the program leaves free
    then moves otherwise than under the ideal force, and as the units of the inputs have it.
    M̂ contains the natural constraints, whose reactions cost no actuator.
    """

    name = "actuated"
    applies_force = False

    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Inputs, force and motion of a program."""
        robot, theta, B = program.robot, active_rows(program, program.theta), program.robot.input_matrix
        steady = steady_rows(program)
        m, nu = len(steady), B.size2()
        if m > nu and not method.handles_dependence:
            raise ModelError(
                f"the program has {m} rows ({', '.join(steady)}), but {robot.name} has only {nu} "
                f"input{'s' * (nu != 1)}{' (' if nu else ''}{', '.join(robot.input_names)}{')' if nu else ''}: drop "
                f"{m - nu} row{'s' * (m - nu != 1)}, or use realization='ideal' to see the force that would be needed"
            )
        moved = method.movable(program, theta, active_rows(program, program.beta))
        free, reactions = moved.drift
        reach, pull = moved.mobility(B)
        gain, weight = theta @ reach, B.T @ reach
        idle = self._inputs_are_dependent(program, program.theta @ reach, weight, method, moved)
        factor = None if idle else Ldl.of(weight)
        back = gain.T if factor is None else factor.solve(gain.T)
        K = decoupled(program, gain @ back)
        whole = None
        if method.handles_dependence or robot.natural:
            # What a row would be if nothing cancelled: what natural constraints leave of one they imply is rounding.
            factors = ca.fabs(theta) @ ca.fabs(reach)
            whole = factors @ factors.T if factor is None else theta @ moved.factor.solve(theta.T)
        turning = None
        if not program.is_affine:
            change = active_rows(program, turned(program, free) @ reach)
            turning = ca.diag(change @ (change.T if factor is None else factor.solve(change.T)))

        def rooted() -> ca.SX:
            return gain if factor is None else factor.rooted(factor.forward(gain.T)).T

        right = active_rows(program, program.beta - program.theta @ free)
        found = solve(program, method, K, right, rooted, lambda lam: free + reach @ (back @ lam), whole, turning)
        u = back @ found.values
        return Realized(
            multipliers=found.values,
            force=B @ u,
            input=ca.densify(u),
            acceleration=free + reach @ u,
            reactions=reactions + pull @ u,
            pivots=found.pivots,
            relative_pivots=found.relative_pivots,
            misses=found.misses,
            left=found.left,
        )

    def _inputs_are_dependent(
        self, program: Program, gain: ca.SX, weight: ca.SX, method: MultiplierMethod, moved: Movable
    ) -> bool:
        """Whether W is singular at all sampled places; raises ModelError for a row that no input reaches at any."""
        robot, c = program.robot, program.robot.coordinates
        states = {"t": c.t, "q": c.q, "v": c.v, "a": c.a}
        singular, silent = True, np.ones(gain.size1(), dtype=np.bool_)
        B = robot.input_matrix
        # What each input would do without natural constraints is the scale for what they leave of it.
        free = ca.diag(B.T @ moved.factor.solve(B))
        looked_at = {"W": weight, "gain": gain, "theta": program.theta, "reach": moved.mobility(B)[0], "free": free}
        for W, rows, theta, reach, free_alone in samples(looked_at, states, program.parameters):
            if not all(np.isfinite(matrix).all() for matrix in (W, rows, theta, reach, free_alone)):
                return False
            scale = np.sqrt(np.abs(free_alone[:, 0]))
            scale = np.where(scale > 0.0, scale, 1.0)
            values = np.linalg.eigvalsh(W / np.outer(scale, scale)) if W.size else np.ones(1)
            singular = singular and bool(values[0] <= DEPENDENT)
            # Rounding in Θ M̂ B is of the size of its factors.
            silent &= np.abs(rows).max(axis=1, initial=0.0) <= DEPENDENT * (np.abs(theta) @ np.abs(reach)).max(axis=1)
        if silent.any() and not method.handles_dependence:
            names = ", ".join(repr(name) for name, zero in zip(program.rows, silent, strict=True) if zero)
            raise ModelError(
                f"no input of {robot.name} ({', '.join(robot.input_names)}) acts on {names}: what the row asks of the "
                "accelerations does not depend on them. They may reach it only after more derivatives, as a voltage "
                "does through its current; or not at all"
            )
        return singular
