"""Laws for arms."""

from __future__ import annotations

from collections.abc import Callable

from erugin.controllers import Controller

from .robots import RobotCase

BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {}
