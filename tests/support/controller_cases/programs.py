"""Program control: as many rows as there are inputs, each a combination of velocities that the inputs reach.

And inputs that are known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from erugin.constraints import FirstOrder, nonholonomic
from erugin.controllers import Controller, OpenLoop, Program, ProgramController

from .robots import RobotCase


def braking_program(case: RobotCase, rate: float = 2.0) -> Program:
    """Velocities on which the inputs do work come to rest: Bᵀ v = 0, as many rows as inputs."""
    rows = case.robot.input_matrix.T @ case.robot.v
    return Program(case.robot, nonholonomic(ca.densify(rows), perturbation=FirstOrder(rate), name="brake"))


def program_controller(case: RobotCase) -> ProgramController:
    """Through the inputs."""
    return ProgramController(braking_program(case), realization="actuated")


def open_loop(case: RobotCase) -> OpenLoop:
    """All inputs swing a little about what brings the robot to rest in a second where it starts, or nearly does."""
    robot, c = case.robot, case.robot.coordinates
    free = robot.evaluate(robot.acceleration, q=case.q0, v=case.v0, u=np.zeros(robot.u.numel())).reshape(c.nv)
    effect = ca.densify(ca.jacobian(robot.acceleration, robot.u))
    reach = robot.evaluate(effect, q=case.q0).reshape(c.nv, robot.u.numel())
    braking = np.linalg.lstsq(reach, -free - case.v0, rcond=1e-9)[0]
    return OpenLoop(robot, ca.DM(braking) + 0.01 * ca.sin(robot.t) * ca.SX.ones(robot.u.numel(), 1))


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    ProgramController: program_controller,
    OpenLoop: open_loop,
}
