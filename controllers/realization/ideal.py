"""Ideal realisation: any generalized force can be had."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ..multipliers import DirectMethod, Movable, MultiplierMethod
from ..program import Program
from .realization import Realization, Realized, active_rows, decoupled, solve, steady_rows, turned


class Ideal(Realization):
    """R = Θᵀλ with Θ M̂ Θᵀ λ = β − Θ a₀, Matukhina eq. (6) and (15).

    a₀ is the acceleration without control and M̂ the mobility, M⁻¹ where there are no natural constraints. Of all forces
    that realise the program it is the least in Gauss's sense: it changes the free motion least in the metric M.
    """

    name = "ideal"
    applies_force = True

    def build(self, program: Program, method: MultiplierMethod) -> Realized:
        """Force and motion of a program."""
        robot, theta = program.robot, active_rows(program, program.theta)
        steady = steady_rows(program)
        if len(steady) > robot.coordinates.nv and not method.handles_dependence:
            raise ModelError(
                f"the program has {len(steady)} rows ({', '.join(steady)}), more than the "
                f"{robot.coordinates.nv} velocities of {robot.name}: no force can satisfy all of them"
            )
        beta = active_rows(program, program.beta)
        if isinstance(method, DirectMethod):
            motion = method.motion(program, theta, beta)
            return Realized(
                multipliers=motion.multipliers,
                force=theta.T @ motion.multipliers,
                input=ca.SX(0, 1),
                acceleration=motion.acceleration,
                reactions=motion.reactions,
                pivots=motion.pivots,
                relative_pivots=motion.relative_pivots,
                misses=motion.misses,
                left=motion.left,
            )
        moved = method.movable(program, theta, beta)
        rows = moved.rows(theta)
        K = decoupled(program, rows.matrix)
        # As long as a row is without natural constraints: what they leave of one that they imply is rounding.
        asked = method.handles_dependence or bool(robot.natural)
        whole = rows.whole if asked else None
        turning = self._turning(program, moved)
        found = solve(
            program, method, K, beta - rows.free, rows.rooted, lambda lam: rows.motion(lam)[0], whole, turning
        )
        lam = found.values
        acceleration, reactions = rows.motion(lam)
        return Realized(
            multipliers=lam,
            force=theta.T @ lam,
            input=ca.SX(0, 1),
            acceleration=acceleration,
            reactions=reactions,
            pivots=found.pivots,
            relative_pivots=found.relative_pivots,
            misses=found.misses,
            left=found.left,
        )

    def _turning(self, program: Program, moved: Movable) -> ca.SX | None:
        """By how much each row changes along a − a₀, squared in the metric M̂; None if all are affine in a."""
        if program.is_affine:
            return None
        change = active_rows(program, turned(program, moved.drift[0]))
        return ca.diag(change @ moved.mobility(change.T)[0])
