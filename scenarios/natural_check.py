"""What is wrong with natural constraints at the start of a run is said before it, not by what it ends with."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..robots.natural import dependent_rows
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, StartWarning
from ..symbolic.kernel import Kernel

Array = NDArray[np.float64]

MISFIT = 1e-6
"""A residual, or its rate, above this is more than what an assembly leaves."""


class NaturalCheck:
    """A robot's natural constraints, looked at in numbers.

    Where rows depend on others, A M⁻¹ Aᵀ is singular: its pivots are rounding errors, and so are the reactions. Where a
    constraint does not hold, its stabilisation pulls it together, by forces that no mechanism has.
    """

    def __init__(self, robot: Robot) -> None:
        """Build the kernel of A and of the residuals.

        Args:
            robot: with natural constraints.
        """
        c = robot.coordinates
        self._robot = robot
        residuals = [constraint.residual(c) for constraint in robot.natural]
        self._sizes = [residual.numel() for residual in residuals]
        rates = [
            c.rate(residual) if constraint.order == 0 else ca.SX.zeros(residual.numel())
            for constraint, residual in zip(robot.natural, residuals, strict=True)
        ]
        values = [
            ca.SX.zeros(residual.numel()) if constraint.order == 2 else residual
            for constraint, residual in zip(robot.natural, residuals, strict=True)
        ]
        outputs = {"A": robot.natural_form[0], "value": ca.vertcat(*values), "rate": ca.vertcat(*rates)}
        self._kernel = Kernel("natural_rows", {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}, outputs, compiled=False)

    def look(self, x: Array, p: Array) -> None:
        """Look at t = 0 and the state x.

        Args:
            x: state (q, v), shape (nq + nv,).
            p: parameters of the robot.

        Raises:
            ModelError: if rows are dependent there; a :class:`~erugin.symbolic.errors.StartWarning` says that a
                constraint does not hold.
        """
        robot, c = self._robot, self._robot.coordinates
        rows, value, rate = self._kernel(0.0, x[: c.nq], x[c.nq :], p)
        rows = rows.reshape(-1, c.nv)
        if not np.isfinite(rows).all():
            return
        found = [robot.natural_rows[i] for i in dependent_rows(rows, self._sizes)]
        if found:
            raise ModelError(
                f"{robot.name}: at the start, natural constraints depend on those before them, or vanish: "
                f"{', '.join(map(repr, found))}. Start from another position if this one is singular; if they are "
                "redundant everywhere, leave them out with without_rows(robot, rows), which changes no motion"
            )
        for what, misses in (("", np.atleast_1d(value)), (", in its rate,", np.atleast_1d(rate))):
            worst = int(np.argmax(np.abs(misses)))
            if abs(misses[worst]) > MISFIT:
                warnings.warn(
                    f"{robot.name} starts off its natural constraint {robot.natural_rows[worst]!r}, which{what} is "
                    f"{misses[worst]:.3g} and not 0; it is pulled together as the constraint's perturbation equation "
                    "says. assemble and assemble_velocities find a start that fits",
                    StartWarning,
                    stacklevel=4,
                )
                return
