"""Robust program controllers."""

from __future__ import annotations

from collections.abc import Callable

from erugin.controllers import Controller
from erugin.controllers.robust import AdaptiveProgramController, IntegralProgramController
from erugin.symbolic import ModelError

from .programs import braking_program
from .robots import RobotCase


def integral(case: RobotCase) -> IntegralProgramController:
    """The brake, with the integral of its velocities."""
    return IntegralProgramController(braking_program(case), realization="actuated")


def adaptive(case: RobotCase) -> AdaptiveProgramController:
    """The brake, of a robot whose gravity or first mass, or another parameter that enters linearly, is not known."""
    AdaptiveProgramController.check_supported(case.robot)
    for name, value in case.robot.nominal.items():
        try:
            return AdaptiveProgramController(
                braking_program(case), {name: (min(0.0, value), 2.0 * value + 1.0)}, rate=2.0
            )
        except ModelError:
            continue
    raise AssertionError(f"no parameter of {case.name} enters linearly")


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    AdaptiveProgramController: adaptive,
    IntegralProgramController: integral,
}
