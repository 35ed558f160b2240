"""Program control: as many rows as there are inputs, each a combination of velocities that the inputs reach."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.constraints import FirstOrder, nonholonomic
from erugin.controllers import Controller, Program, ProgramController

from .robots import RobotCase


def braking_program(case: RobotCase, rate: float = 2.0) -> Program:
    """What the inputs do work on comes to rest: Bᵀ v = 0, as many rows as inputs."""
    rows = case.robot.input_matrix.T @ case.robot.v
    return Program(case.robot, nonholonomic(ca.densify(rows), perturbation=FirstOrder(rate), name="brake"))


def program_controller(case: RobotCase) -> ProgramController:
    """Through the inputs."""
    return ProgramController(braking_program(case), realization="actuated")


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {ProgramController: program_controller}
