"""Laws for arms."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import ComputedTorque, OperationalSpace, PDGravity

from ..arms import two_link_arm
from .robots import RobotCase

POINTS = {
    "seven-joint arm": "panda_hand_tcp",
    "four-bar linkage": "coupler.end",
    "two-wheel robot": "nose",
    "reduced two-wheel robot": "nose",
}
"""A point that inputs move; the tip of other robots."""


def reference(case: RobotCase) -> Reference:
    """A swing of every coordinate; of closed loops, the position that they are in.

    Where there can be none, that of another robot: the law must refuse this one before it looks at it.
    """
    if not case.robot.coordinates.are_rates:
        return Reference.at_rest(two_link_arm(), np.zeros(2))
    if case.robot.natural:
        return Reference.at_rest(case.robot, case.q0)
    swing = 0.2 * (1 - ca.cos(3.0 * case.robot.t))
    return Reference.of(case.robot, ca.SX(ca.DM(case.q0)) + swing)


def point(case: RobotCase) -> ca.SX:
    """Of one row for each input at most."""
    x = case.robot.points.get(POINTS.get(case.name, "tip"), case.robot.q)
    return x[: min(x.numel(), case.robot.u.numel())]


def task_space(case: RobotCase) -> OperationalSpace:
    """The point goes somewhat away."""
    x = point(case)
    start = np.atleast_1d(case.robot.evaluate(x, q=case.q0))
    posture = case.q0 if case.robot.coordinates.are_rates else None
    return OperationalSpace(case.robot, x, start - 0.05, rate=4.0, posture=posture)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    PDGravity: lambda case: PDGravity(case.robot, reference(case)),
    ComputedTorque: lambda case: ComputedTorque(case.robot, reference(case)),
    OperationalSpace: task_space,
}
