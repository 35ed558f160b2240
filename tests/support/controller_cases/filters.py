"""Obstacle filters and potential fields."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from erugin.constraints import circle
from erugin.controllers import Controller
from erugin.controllers.baselines import BarrierFunction, CbfFilter, PotentialField

from .arm_laws import POINTS
from .programs import program_controller
from .robots import RobotCase


def potential_field(case: RobotCase) -> PotentialField:
    """A goal near by, with a disc or ball behind it."""
    x = case.robot.points.get(POINTS.get(case.name, "tip"), case.robot.q)
    start = case.robot.evaluate(x, q=case.q0)
    step = np.zeros(start.size)
    step[0] = -0.1
    ball = circle(start + 2.5 * step, 0.08, name="ball")
    return PotentialField(case.robot, x, start + step, [ball], around=case.q0, speed=0.3)


def filtered_program(case: RobotCase) -> CbfFilter:
    """The first coordinate stays below a bound that it moves towards."""
    wall = BarrierFunction("wall", case.q0[0] + 0.05 - case.robot.q[0])
    return CbfFilter(program_controller(case), wall, rate=4.0)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    PotentialField: potential_field,
    CbfFilter: filtered_program,
}
