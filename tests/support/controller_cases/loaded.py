"""Laws that were written into a file and read again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from erugin.bridges.casadi import LoadedController, export, load
from erugin.controllers import Controller

from .programs import program_controller
from .robots import RobotCase


def loaded_law(case: RobotCase) -> LoadedController:
    """Of the program that brakes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "law.json"
        export(program_controller(case), path)
        return load(path, case.robot)


BUILDERS: dict[type[Controller], Callable[[RobotCase], Controller]] = {LoadedController: loaded_law}
