"""Servo-constraints."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.constraints import holonomic
from erugin.controllers import Controller, Program
from erugin.controllers.servo import ServoController

from .robots import RobotCase


def servo_controller(case: RobotCase) -> ServoController:
    """The crane's load is to stay where it begins, of other robots what the inputs do work on."""
    robot, q0 = case.robot, ca.SX(ca.DM(case.q0))
    if case.name == "crane":
        load = robot.points["load"]
        rows = load - ca.substitute(load, robot.q, q0)
    elif robot.coordinates.are_rates:
        rows = robot.input_matrix.T @ (robot.q - q0)
    else:
        rows = robot.q[3:5] - q0[3:5]
    program = Program(robot, holonomic(ca.densify(rows), name="hold"))
    return ServoController(program, near=case.q0, near_velocity=case.v0)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {ServoController: servo_controller}
