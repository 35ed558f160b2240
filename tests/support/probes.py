"""Many expressions of a robot looked at together: one kernel instead of one each."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.robots import Robot
from erugin.symbolic import Kernel

from .trees import State

Array = NDArray[np.float64]


class Probe:
    """Values by name: matrices, whose names begin with a capital, have shape (r, c); all else is a column, shape (n,).

    Args:
        robot: whose symbols are used.
        expressions: what to look at; those of the equations of motion if not given.
        p: parameters that differ from the nominal ones.
    """

    def __init__(
        self, robot: Robot, expressions: Mapping[str, ca.SX] | None = None, p: Mapping[str, float] | None = None
    ) -> None:
        outputs = equations(robot) if expressions is None else expressions
        inputs = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
        self._shapes = {name: e.shape if name[0].isupper() else (e.numel(),) for name, e in outputs.items()}
        # An empty output cannot be requested.
        self._kernel = Kernel("probe", inputs, {k: e for k, e in outputs.items() if e.numel()}, compiled=False)
        self._p = robot.parameters.values(p)

    def __call__(self, state: State) -> dict[str, Array]:
        found = dict(zip(self._kernel.outputs, self._kernel(*state, self._p), strict=True))
        return {name: found.get(name, np.zeros(0)).reshape(shape) for name, shape in self._shapes.items()}


def equations(robot: Robot) -> dict[str, ca.SX]:
    """Everything in the equations of motion."""
    return {
        "M": robot.mass_matrix,
        "h": robot.bias,
        "a": robot.acceleration,
        "mu": robot.reactions,
        "kinetic": robot.kinetic_energy,
        "potential": robot.potential_energy,
        "N": robot.coordinates.N,
    }
