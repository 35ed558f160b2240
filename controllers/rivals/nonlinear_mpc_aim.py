"""What a predictive controller is to do: something that vanishes, and the inputs that cost nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import casadi as ca

from ...constraints.relations.quantity import Column, column
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.semidefinite import SemidefiniteLdl
from ..reference import Reference


@dataclass(frozen=True, eq=False)
class Aim:
    """y → 0, with u near u_d; expressions in a robot's t, q, v and parameters, and in parameters of its own.

    Attributes:
        robot: the model.
        y: what is to vanish, shape (m,).
        rate: dy/dt, shape (m,).
        names: of the entries of y.
        input: u_d, the input that costs nothing, shape (nu,).
        state: (q, v) that y = 0 leads to, shape (nq + nv,), if it is one; empty if not.
        parameters: symbols other than the robot's.
    """

    robot: Robot
    y: ca.SX
    rate: ca.SX
    names: tuple[str, ...]
    input: ca.SX
    state: ca.SX
    parameters: Parameters

    @classmethod
    def follow(cls, reference: Reference) -> Self:
        """y = q − q_d(t), with the inputs that q_d needs.

        Args:
            reference: the motion.
        """
        robot = reference.robot
        c = robot.coordinates
        needed = ca.substitute(
            holding_input(robot, c.a),
            ca.vertcat(c.q, c.v, c.a),
            ca.vertcat(reference.q, reference.v, reference.a),
        )
        state = ca.vertcat(reference.q, reference.v)
        names = tuple(f"error of {name}" for name in c.names)
        return cls(robot, c.q - reference.q, c.v - reference.v, names, needed, state, reference.parameters)

    @classmethod
    def reach(cls, robot: Robot, point: ca.SX, target: Column, parameters: Parameters = NO_PARAMETERS) -> Self:
        """y = point − target(t), with the inputs that hold the robot where it is.

        Args:
            robot: the model.
            point: an expression in q, shape (m,), such as ``robot.points["tip"]``.
            target: where it is to be: expressions in t and the parameters, or numbers, shape (m,).
            parameters: symbols other than the robot's.

        Raises:
            ModelError: for shapes that do not agree, or foreign symbols.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"a point is one of a Robot, got {type(robot).__name__}")
        x, wanted = column("aim", "the point", point), column("aim", "the target", target)
        if x.numel() != wanted.numel():
            raise ModelError(f"point and target must be of one length, got {x.numel()} and {wanted.numel()}")
        c = robot.coordinates
        robot.require_own_symbols("point", x, parameters)
        robot.require_own_symbols("target", wanted, parameters)
        if ca.depends_on(ca.vertcat(x, wanted), ca.vertcat(c.v, c.a, robot.u)) or ca.depends_on(wanted, c.q):
            raise ModelError("a point depends on coordinates, a target on time and parameters, and on nothing else")
        y = ca.densify(x - wanted)
        names = tuple(f"error {i}" for i in range(y.numel()))
        holding = ca.substitute(holding_input(robot, ca.SX.zeros(c.nv)), c.v, ca.SX.zeros(c.nv))
        return cls(robot, y, ca.densify(c.rate(y)), names, holding, ca.SX(0, 1), parameters)


def holding_input(robot: Robot, acceleration: ca.SX) -> ca.SX:
    """u with B u + Aᵀμ = M a + h for some reactions μ, or as near to it as inputs get, in the accelerations they make.

    Args:
        robot: the model.
        acceleration: a, shape (nv,).
    """
    B = robot.input_matrix
    reach = robot.mobility(B)[0]
    return SemidefiniteLdl.of(B.T @ reach).solve(reach.T @ (robot.mass_matrix @ acceleration + robot.bias))
