"""Erugin: control of robots by constraints.

State what a motion must satisfy; Erugin finds the forces that make it so, R = Θᵀλ, and simulates the closed loop.
Models are in ``erugin.robots``, what they must satisfy in ``erugin.constraints``, laws in ``erugin.controllers``,
motions in ``erugin.simulation``, pictures in ``erugin.views``, studies in ``erugin.scenarios``, other programs in
``erugin.bridges``; each is imported when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

from .symbolic.errors import EruginError

if TYPE_CHECKING:
    from . import bridges, cli, constraints, controllers, robots, scenarios, simulation, symbolic, views

    __version__: str
else:

    def __getattr__(name: str) -> object:
        # Late: these take long to import, and so does the search for the version.
        if name in __all__:
            if name == "__version__":
                return importlib.import_module("importlib.metadata").version("erugin")
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "EruginError",
    "__version__",
    "bridges",
    "cli",
    "constraints",
    "controllers",
    "robots",
    "scenarios",
    "simulation",
    "symbolic",
    "views",
]


def __dir__() -> list[str]:
    return __all__
