"""Open-loop control: inputs as given functions of time and parameters."""

from __future__ import annotations

import casadi as ca
from numpy.typing import ArrayLike

from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.validation import vector
from .controller import SymbolicController
from .law import Law
from .traits import Trait


class OpenLoop(SymbolicController):
    """u = u(t, p), whatever the robot does; it has no rows and no deviation."""

    supports = frozenset(Trait)

    def __init__(self, robot: Robot, output: ca.SX | ArrayLike, *, parameters: Parameters = NO_PARAMETERS) -> None:
        """Build the law.

        Args:
            robot: the robot that the inputs drive.
            output: u, numbers or expressions in the robot's t and p and in ``parameters``, shape (nu,).
            parameters: parameters of the expressions other than the robot's.

        Raises:
            ModelError: for expressions of another shape, in q, v, a or u, or in foreign symbols.
            ShapeError: for numbers of another shape, or that are not finite.
        """
        self.check_supported(robot)
        c, count = robot.coordinates, robot.u.numel()
        given = output if isinstance(output, ca.SX) else ca.SX(ca.DM(vector("output", output, count)))
        if given.shape != (count, 1):
            raise ModelError(f"{robot.name} has {count} inputs, but the output has shape {given.shape}")
        robot.require_own_symbols("the output", given, parameters)
        if ca.depends_on(given, ca.vertcat(c.q, c.v, c.a, robot.u)):
            raise ModelError("the output must be an expression in time and parameters only, not in q, v, a or u")
        self.robot, self._output = robot, given
        self.parameters = Parameters.collect([robot.parameters, parameters])

    def build_law(self) -> Law:
        """Build the law: the given inputs."""
        return Law(ca.densify(self._output))
