"""The velocities that a program asks for, and their rates, without a plant's masses."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ...constraints.constraint import Constraint
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.ldl import Ldl
from ..program import Program


@dataclass(frozen=True, eq=False)
class ProgramVelocity:
    """v_r with A v_r = b′ and Θ v_r = w − k y, and what follows from it.

    Attributes:
        velocity: v_r(t, q), shape (nv,).
        acceleration: its rate along the motion, shape (nv,).
        pivots: of the program's rows, shape (m,): zero where one depends on natural ones or those before it.
        relative_pivots: the same relative to the largest row of the same constraint, shape (m,).
    """

    velocity: ca.SX
    acceleration: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX

    @classmethod
    def of(cls, program: Program, rate: ca.SX, null: ca.SX) -> ProgramVelocity:
        """Velocities of rows of order 0 and of order 1 linear in the velocities.

        A row of order 0 gives φ_q N v_r = −φ_t − k φ, one of order 1 ψ = Θ v − w gives Θ v_r = w. With s = v − v_r then
        Θ s = ẏ + k y, or y′. Of all such v_r it is the nearest to z, in the units of v.

        Args:
            program: the rows.
            rate: k [1/s].
            null: z in t, q and parameters, shape (nv,).

        Raises:
            ModelError: for rows of order 2, rows nonlinear in v, or rows with a condition.
        """
        robot = program.robot
        natural = [_row(robot, constraint, constraint.name, ca.SX(0), "natural ") for constraint in robot.natural]
        wanted = [_row(robot, constraint, constraint.name, rate, "") for constraint in program.constraints]
        rows = ca.vertcat(ca.SX(0, robot.coordinates.nv), *(theta for theta, _ in (*natural, *wanted)))
        right = ca.vertcat(ca.SX(0, 1), *(w for _, w in (*natural, *wanted)))
        K = rows @ rows.T
        factor = Ldl.of(K)
        velocity = ca.densify(null + rows.T @ factor.solve(right - rows @ null))
        first = sum(theta.size1() for theta, _ in natural)
        certain = factor.certain_pivots(K)
        pivots = ca.vertcat(ca.SX(0, 1), *(certain[first + i] for i in range(len(program.rows))))
        relative: list[ca.SX] = []
        for i, block in enumerate(program.blocks):
            largest = K[first + block[0], first + block[0]]
            for j in block[1:]:
                largest = ca.fmax(largest, K[first + j, first + j])
            relative.append(ca.if_else(largest > 0, pivots[i] / largest, 0))
        return cls(velocity, ca.densify(robot.coordinates.rate(velocity)), pivots, ca.vertcat(*relative))


def _row(robot: Robot, constraint: Constraint, name: str, rate: ca.SX, kind: str) -> tuple[ca.SX, ca.SX]:
    """Θ and w − k y of one constraint."""
    c = robot.coordinates
    if constraint.when is not None:
        raise ModelError(
            f"{kind}constraint {name!r} is on only at times; velocities that a program asks for must not jump: use a "
            "ProgramController, or a controller for each phase"
        )
    if constraint.order == 2:
        raise ModelError(
            f"{kind}constraint {name!r} has order 2: it says nothing of velocities. Write it as a relation of "
            "velocities (order 1) or places (order 0)"
        )
    residual = ca.densify(constraint.residual(c))
    velocity_level = residual if constraint.order == 1 else c.rate(residual)
    theta = ca.jacobian(velocity_level, c.v)
    if ca.depends_on(theta, c.v):
        raise ModelError(
            f"{kind}constraint {name!r} is not linear in the velocities, so that it does not say which they must be"
        )
    w = -ca.substitute(velocity_level, c.v, ca.SX.zeros(c.nv))
    return ca.densify(theta), ca.densify(w if constraint.order == 1 else w - rate * residual)
