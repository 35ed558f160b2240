"""Robust program controllers."""

from __future__ import annotations

from collections.abc import Callable

from erugin.controllers import Controller
from erugin.controllers.robust import AdaptiveProgramController, DisturbanceObserver
from erugin.controllers.robust.disturbance_observer import CorrectedLaw
from erugin.symbolic import ModelError, Parameters

from .programs import braking_program, program_controller
from .robots import RobotCase


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


def observer(case: RobotCase) -> DisturbanceObserver:
    """The brake, with an observer of what its model lacks."""
    DisturbanceObserver.check_supported(case.robot)
    return DisturbanceObserver(program_controller(case), 1.0)


def corrected(case: RobotCase) -> CorrectedLaw:
    """The brake, with a force that is not zero taken off."""
    CorrectedLaw.check_supported(case.robot)
    names = {f"missing.{name}": 0.01 for name in case.robot.coordinates.velocity_names}
    return CorrectedLaw(program_controller(case), Parameters.declare(names))


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    AdaptiveProgramController: adaptive,
    CorrectedLaw: corrected,
    DisturbanceObserver: observer,
}
