"""A motion of all coordinates that a control law is to follow."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..robots.robot import Robot
from ..symbolic.arrays import vector
from ..symbolic.errors import ModelError
from ..symbolic.parameters import NO_PARAMETERS, Parameters

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reference:
    """q_d(t), and what it needs: expressions in a robot's time and parameters, and in parameters of its own.

    Attributes:
        robot: whose motion it is.
        q: q_d, shape (nq,).
        v: dq_d/dt, shape (nq,).
        a: d²q_d/dt², shape (nq,).
        parameters: symbols other than the robot's that it uses.
    """

    robot: Robot
    q: ca.SX
    v: ca.SX
    a: ca.SX
    parameters: Parameters = NO_PARAMETERS

    @classmethod
    def of(cls, robot: Robot, q: ca.SX, parameters: Parameters = NO_PARAMETERS) -> Reference:
        """The motion of an expression; its rates come by differentiation.

        Args:
            robot: whose motion it is.
            q: q_d in ``robot.t``, the robot's parameters and those given, shape (nq,), twice differentiable.
            parameters: symbols other than the robot's.

        Raises:
            ModelError: for another shape, an expression in the state or in foreign symbols, or a robot whose velocities
                are not the rates of its coordinates.
        """
        c = robot.coordinates
        if not c.are_rates:
            raise ModelError(
                f"a Reference gives all coordinates, of which the velocities of {robot.name} are not the rates: "
                "describe what it is to do by constraints"
            )
        if not isinstance(q, ca.SX) or q.shape != (c.nq, 1):
            raise ModelError(f"a Reference of {robot.name} must be a column of {c.nq} SX expressions, got {q!r}")
        robot.require_own_symbols("reference", q, parameters)
        if ca.depends_on(q, ca.vertcat(robot.q, robot.v, robot.u, c.a)):
            raise ModelError("a Reference is a function of time and parameters, not of state, inputs or accelerations")
        rate = ca.jtimes(q, robot.t, ca.SX(1))
        return cls(robot, ca.densify(q), ca.densify(rate), ca.densify(ca.jtimes(rate, robot.t, ca.SX(1))), parameters)

    @classmethod
    def at_rest(cls, robot: Robot, q: ArrayLike) -> Reference:
        """A position to be held.

        Args:
            robot: whose position it is.
            q: coordinates, shape (nq,).

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
        """
        return cls.of(robot, ca.SX(ca.DM(vector("q", q, robot.coordinates.nq))))

    def require_of(self, robot: Robot) -> None:
        """Raise ModelError unless it is a motion of this robot.

        Args:
            robot: the model of the law that is to follow it.
        """
        if robot is not self.robot:
            raise ModelError(f"the reference is a motion of {self.robot.name}, and the law is made for {robot.name}")

    @property
    def start(self) -> tuple[Array, Array]:
        """q_d and its rate at t = 0, at nominal parameters, each of shape (nq,)."""
        values = Parameters.collect([self.robot.parameters, self.parameters])
        f = ca.Function("start", [self.robot.t, values.symbols], [self.q, self.v])
        q, v = f.call([0.0, values.values()])
        return np.array(q.full()[:, 0]), np.array(v.full()[:, 0])
