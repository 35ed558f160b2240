"""Builders of every controller for the robots of the contract test, one module for each area."""

from __future__ import annotations

from collections.abc import Callable

from erugin.controllers import Controller

from . import acting, arm_laws, filters, loaded, optimal, passivity, programs, robust, servo, two_wheel, wrappers
from .robots import RobotCase

BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {
    **acting.BUILDERS,
    **programs.BUILDERS,
    **arm_laws.BUILDERS,
    **filters.BUILDERS,
    **loaded.BUILDERS,
    **optimal.BUILDERS,
    **passivity.BUILDERS,
    **robust.BUILDERS,
    **servo.BUILDERS,
    **two_wheel.BUILDERS,
    **wrappers.BUILDERS,
}
"""A builder may raise ModelError only for a robot that the class's ``unsupported_reason`` names a reason for."""
