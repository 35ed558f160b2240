"""Natural constraints that depend on each other are found before a run, not by what it ends with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..constraints.constraint import row_names
from ..robots.natural import dependent_rows
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel

Array = NDArray[np.float64]


class NaturalCheck:
    """Rows A of a robot's natural constraints, looked at in numbers.

    Where rows depend on others, A M⁻¹ Aᵀ is singular: its pivots are rounding errors, and so are the reactions.
    """

    def __init__(self, robot: Robot) -> None:
        """Build the kernel of A.

        Args:
            robot: with natural constraints.
        """
        c = robot.coordinates
        self._robot = robot
        self._kernel = Kernel(
            "natural_rows", {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}, {"A": robot.natural_form[0]}, compiled=False
        )
        self._names = [
            name for constraint in robot.natural for name in row_names(constraint.name, constraint.residual(c).numel())
        ]

    def require_independent(self, x: Array, p: Array) -> None:
        """Raise ModelError if rows are dependent at t = 0 and the state x.

        Args:
            x: state (q, v), shape (nq + nv,).
            p: parameters of the robot.
        """
        c = self._robot.coordinates
        rows = self._kernel(0.0, x[: c.nq], x[c.nq :], p)[0].reshape(-1, c.nv)
        if not np.isfinite(rows).all():
            return
        found = [self._names[i] for i in dependent_rows(rows)]
        if found:
            raise ModelError(
                f"{self._robot.name}: at the start, natural constraints depend on those before them, or vanish: "
                f"{', '.join(map(repr, found))}. Start from another position if this one is singular; if they are "
                "redundant everywhere, leave them out with without_rows(robot, rows), which changes no motion"
            )
