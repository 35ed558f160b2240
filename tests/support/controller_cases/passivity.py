"""Passivity-based and sliding-mode laws."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import SlidingMode, SlotineLi

from .robots import RobotCase


def swinging(case: RobotCase) -> Reference:
    """Every coordinate swings about its start."""
    return Reference.of(case.robot, ca.DM(case.q0) + 0.2 * ca.sin(case.robot.t) * ca.SX.ones(case.q0.size, 1))


def slotine_li(case: RobotCase) -> SlotineLi:
    """By the tuning rule."""
    SlotineLi.check_supported(case.robot)
    return SlotineLi(case.robot, swinging(case), rate=5.0)


def sliding_mode(case: RobotCase) -> SlidingMode:
    """Forces known up to half a newton metre."""
    SlidingMode.check_supported(case.robot)
    return SlidingMode(case.robot, swinging(case), rate=5.0, disturbance=[0.5] * case.q0.size)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    SlotineLi: slotine_li,
    SlidingMode: sliding_mode,
}
