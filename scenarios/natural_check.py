"""What is wrong with natural constraints at the start of a run is said before it, not by what it ends with."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.constrained_motion import ConstrainedMotion
from ..constraints.solvability import solvability
from ..robots.natural import dependent_rows
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, StartWarning
from ..symbolic.kernel import Kernel

Array = NDArray[np.float64]

MISFIT = 1e-6
"""A residual, or its rate, above this is more than what an assembly leaves."""

CONTRADICTION = 1e-2
"""Share, or m/s² and rad/s², by which rows may contradict each other: a misfit of 1e-6 times its gain is no more."""


class NaturalCheck:
    """A robot's natural constraints, looked at in numbers.

    Where rows depend on others, A M⁻¹ Aᵀ is singular: its pivots are rounding errors, and so are the reactions. Where a
    constraint does not hold, its stabilisation pulls it together, by forces that no mechanism has.
    """

    def __init__(self, robot: Robot, *, dependent: bool = False) -> None:
        """Build the kernel of A and of the residuals.

        Args:
            robot: with natural constraints.
            dependent: whether rows may depend on others.
        """
        c = robot.coordinates
        self._dependent = dependent
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
        A, b = robot.natural_form
        outputs = {"A": A, "b": b, "value": ca.vertcat(*values), "rate": ca.vertcat(*rates)}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        if not dependent:
            moved = {"slope": c.N @ c.v, "pivots": robot.natural_factor.pivots}
            self._moved = Kernel("natural_moved", inputs, moved, compiled=False)
        self._kernel = Kernel("natural_rows", inputs, outputs, compiled=False)

    def look(self, x: Array, p: Array, t: float = 0.0) -> None:
        """Look at one state.

        Args:
            x: state (q, v), shape (nq + nv,).
            p: parameters of the robot.
            t: time [s].

        Raises:
            ModelError: if rows are dependent there; a :class:`~erugin.symbolic.errors.StartWarning` says that a
                constraint does not hold.
        """
        robot, c = self._robot, self._robot.coordinates
        rows, right, value, rate = self._kernel(t, x[: c.nq], x[c.nq :], p)
        rows = rows.reshape(-1, c.nv)
        if not np.isfinite(rows).all():
            return
        found = [robot.natural_rows[i] for i in dependent_rows(rows, self._sizes)]
        if found and robot.redundant == "refused" and not self._dependent:
            raise ModelError(
                f"{robot.name}: at the start, natural constraints depend on those before them, or vanish: "
                f"{', '.join(map(repr, found))}. Start from another position if this one is singular; if they are "
                "redundant everywhere, leave them out with without_rows(robot, rows), or keep them, with reactions of "
                'least norm, by mechanism(..., redundant="least-norm"): neither changes the motion'
            )
        if found and robot.redundant == "least-norm" and np.isfinite(right).all():
            self._require_agreement(rows, np.atleast_1d(right))
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

    def before(self, x: Array, p: Array, t: float, step: float) -> Array | None:
        """Pivots of the rows one step before a state, thought back along its velocities.

        It is None if rows may depend on others.

        Args:
            x: state (q, v), shape (nq + nv,).
            p: parameters of the robot.
            t: time [s].
            step: [s].
        """
        if self._dependent:
            return None
        nq = self._robot.coordinates.nq
        q, v = x[:nq], x[nq:]
        return np.atleast_1d(self._moved(t - step, q - step * np.atleast_1d(self._moved(t, q, v, p)[0]), v, p)[1])

    def _require_agreement(self, rows: Array, right: Array) -> None:
        """Raise ModelError if rows that depend on each other ask for different accelerations."""
        robot, n = self._robot, self._robot.coordinates.nv
        one_state = ConstrainedMotion(np.eye(n), np.zeros(n), rows, right, self._sizes, robot.natural_rows)
        known = solvability(one_state, consistency=CONTRADICTION)
        wrong = [f"{d.row!r} by {d.contradiction:.3g}" for d in known.dependences if not d.consistent]
        if wrong:
            raise ModelError(
                f"{robot.name}: at the start, natural constraints contradict each other: {', '.join(wrong)}: no motion "
                "satisfies them all. Start where they hold, or take one of them away"
            )
