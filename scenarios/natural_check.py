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
from ..symbolic.errors import ModelError, StartWarning, caller_level
from ..symbolic.kernel import Kernel
from .mapped import evaluate_each

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MISFIT = 1e-6
"""A residual, or its rate, above this is more than what an assembly leaves."""

CONTRADICTION = 1e-2
"""Share, or m/s² and rad/s², by which rows may contradict each other: a misfit of 1e-6 times its gain is no more."""

WORTH_A_LOOK = 1e-6
"""Share of the longest row, far above what counts as dependent, below which the rest of a row is looked at closely."""


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

    def look(self, x: Array, p: Array, t: float = 0.0, *, batch: bool = False) -> None:
        """Look at the states in which runs start.

        Args:
            x: states (q, v), shape (lanes, nq + nv).
            p: parameters of the robot, shape (lanes, np).
            t: time [s].
            batch: whether to say which lane it is.

        Raises:
            ModelError: if rows are dependent there; a :class:`~erugin.symbolic.errors.StartWarning` says that a
                constraint does not hold.
        """
        robot, c = self._robot, self._robot.coordinates
        k = len(robot.natural_rows)
        rows, right, value, rate = self._each(self._kernel, t, x, p)
        # Entries of matrices come column by column.
        rows = rows.reshape(-1, c.nv, k).transpose(0, 2, 1)
        known = np.asarray(np.isfinite(rows).all(axis=(1, 2)), dtype=np.bool_)
        for lane in np.flatnonzero(known & self._may_depend(rows, known)).tolist():
            self._look_at_rows(rows[lane], right[lane], f"lane {lane}: " if batch else "")
        for what, misses in (("", value), (", in its rate,", rate)):
            off = np.where(known[:, None], np.abs(misses), 0.0)
            lanes = np.flatnonzero((off > MISFIT).any(axis=1))
            if len(lanes):
                lane, worst = int(lanes[0]), int(np.argmax(off[lanes[0]]))
                who = f"lane {lane}, first of {len(lanes)} such: {robot.name}" if batch else robot.name
                warnings.warn(
                    f"{who} starts off its natural constraint {robot.natural_rows[worst]!r}, which{what} is "
                    f"{misses[lane, worst]:.3g} and not 0; it is pulled together as the constraint's perturbation "
                    "equation says. assemble and assemble_velocities find a start that fits",
                    StartWarning,
                    stacklevel=caller_level(),
                )
                return

    def before(self, x: Array, p: Array, t: float, step: float) -> Array | None:
        """Pivots of the rows one step before states, thought back along their velocities, shape (lanes, k).

        It is None if rows may depend on others.

        Args:
            x: states (q, v), shape (lanes, nq + nv).
            p: parameters of the robot, shape (lanes, np).
            t: time [s].
            step: [s].
        """
        if self._dependent:
            return None
        nq = self._robot.coordinates.nq
        slope = self._each(self._moved, t, x, p)[0]
        back = np.column_stack([x[:, :nq] - step * slope, x[:, nq:]])
        return self._each(self._moved, t - step, back, p)[1]

    def _each(self, kernel: Kernel, t: float, x: Array, p: Array) -> list[Array]:
        nq = self._robot.coordinates.nq
        return evaluate_each(kernel, [np.full((len(x), 1), t), x[:, :nq], x[:, nq:], p])

    def _may_depend(self, rows: Array, known: Flags) -> Flags:
        """Lanes worth a look row by row: what is left of a row outside all others before it is the pivot of QR."""
        finite = np.where(known[:, None, None], rows, 0.0)
        k, n = finite.shape[1:]
        if k > n:
            return known
        left = np.abs(np.diagonal(np.linalg.qr(finite.transpose(0, 2, 1), mode="r"), axis1=1, axis2=2))
        longest = np.sqrt(np.square(finite).sum(axis=2)).max(axis=1)
        return np.asarray((left <= WORTH_A_LOOK * longest[:, None]).any(axis=1), dtype=np.bool_)

    def _look_at_rows(self, rows: Array, right: Array, who: str) -> None:
        robot = self._robot
        found = [robot.natural_rows[i] for i in dependent_rows(rows, self._sizes)]
        if found and robot.redundant == "refused" and not self._dependent:
            raise ModelError(
                f"{who}{robot.name}: at the start, natural constraints depend on those before them, or vanish: "
                f"{', '.join(map(repr, found))}. Start from another position if this one is singular; if they are "
                "redundant everywhere, leave them out with without_rows(robot, rows), or keep them, with reactions of "
                'least norm, by mechanism(..., redundant="least-norm"): neither changes the motion'
            )
        if found and robot.redundant == "least-norm" and np.isfinite(right).all():
            self._require_agreement(rows, right, who)

    def _require_agreement(self, rows: Array, right: Array, who: str) -> None:
        """Raise ModelError if rows that depend on each other ask for different accelerations."""
        robot, n = self._robot, self._robot.coordinates.nv
        one_state = ConstrainedMotion(np.eye(n), np.zeros(n), rows, right, self._sizes, robot.natural_rows)
        known = solvability(one_state, consistency=CONTRADICTION)
        wrong = [f"{d.row!r} by {d.contradiction:.3g}" for d in known.dependences if not d.consistent]
        if wrong:
            raise ModelError(
                f"{who}{robot.name}: at the start, natural constraints contradict each other: {', '.join(wrong)}: no "
                "motion satisfies them all. Start where they hold, or take one of them away"
            )
