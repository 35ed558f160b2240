"""How every controller is built for the robots of the contract test, one module for each area."""

from __future__ import annotations

from collections.abc import Callable

from erugin.controllers import Controller

from . import arm_rivals, filters, optimal, passivity, programs, robust, servo, two_wheel, wrappers
from .robots import RobotCase

BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    **programs.BUILDERS,
    **arm_rivals.BUILDERS,
    **filters.BUILDERS,
    **optimal.BUILDERS,
    **passivity.BUILDERS,
    **robust.BUILDERS,
    **servo.BUILDERS,
    **two_wheel.BUILDERS,
    **wrappers.BUILDERS,
}
"""A builder may raise ModelError only for a robot that the class's ``refusal`` names a reason for."""
