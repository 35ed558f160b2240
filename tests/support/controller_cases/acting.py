"""Laws with an action added, as environments have them."""

from __future__ import annotations

from collections.abc import Callable

from erugin.bridges.gymnasium.interpreted_lane import ActionController
from erugin.controllers import Controller

from .robots import RobotCase
from .wrappers import law


def build(case: RobotCase) -> Controller:
    inner = law(case)
    return ActionController(case.robot, inner, forces=inner.applies_force, every=3)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {ActionController: build}
