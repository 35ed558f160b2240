"""Erugin: control of robots by constraints.

State what a motion must satisfy; Erugin finds the forces that make it so, R = Θᵀλ, and simulates the closed loop.
The rooms are ``erugin.robots``, ``erugin.constraints``, ``erugin.controllers`` and ``erugin.scenarios``.
"""

from importlib.metadata import version

from .symbolic.errors import EruginError

__version__ = version("erugin")

__all__ = ["EruginError", "__version__"]
