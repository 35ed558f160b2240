"""Diagnostics of a program at one state: status, message, and the error that a controller raises."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...constraints.solvability import REMAINDER, row_remainders
from ...constraints.solvability import SINGULAR_VALUE_TOLERANCE as SAME
from ...robots.constrained_factor import SMALLEST_PIVOT
from ...robots.natural_constraints import dependent_rows
from ...symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ...symbolic.linear_algebra import PIVOT_TOLERANCE
from ..multipliers.method import ACCURATE, ROUNDING, MultiplierMethod
from ..status import Status, describe_contradictions, describe_dependent_row, describe_missed_rows, tick_status
from .program import Program
from .solution import ProgramData

Array = NDArray[np.float64]

ERRORS: Mapping[Status, type[EruginError]] = {
    Status.SINGULAR: SingularProgramError,
    Status.CONTRADICTORY: ContradictoryProgramError,
    Status.NOT_FINITE: NotFiniteError,
    Status.NOT_CONVERGED: NotConvergedError,
}

REALISED = (
    "The force realises the program. Multipliers of rows that depend on each other are not unique; those of least norm "
    "are returned."
)


NOTHING: Array = np.zeros(0)
NEAR = 0.01
"""Square of a row's remainder, as a share of its scale, below which it is near earlier rows."""
NEARLY_DEPENDENT = 1e-6
"""Relative pivot of a row, the square of its remainder, below which the numbers of a tick are verified."""
DRIFTED = 1e-5
"""Natural rows contradict each other from this share of their terms."""


@dataclass(frozen=True, eq=False)
class ProgramDiagnostics:
    """Diagnosis of the numbers at one state.

    Attributes:
        program: the program that is realised.
        method: method that solved for the multipliers.
        tolerance: a row is dependent if its relative pivot is not above this.
    """

    program: Program
    method: MultiplierMethod
    tolerance: float

    @property
    def relations(self) -> float:
        """Share of the largest singular value of the rows below which the method may have skipped one of them."""
        return max(SAME, float(np.sqrt(self.method.tolerance))) if self.method.supports_dependent_rows else SAME

    def status(self, finite: bool, pivots: Array, failure: str) -> Status:
        """Return the status of a tick; rows that vanish take precedence over a failed search for accelerations.

        Args:
            finite: True if the output is finite.
            pivots: relative pivots of the rows, shape (m,).
            failure: why no root was found for rows nonlinear in the accelerations; empty if one was found.
        """
        status = tick_status(finite, pivots, self.tolerance)
        if status is Status.SINGULAR and self.method.supports_dependent_rows:
            if (pivots == 0.0).any():
                return Status.CONTRADICTORY
            return Status.NOT_CONVERGED if self.method.iterates else Status.SINGULAR
        return Status.NOT_CONVERGED if failure and status is not Status.SINGULAR else status

    def message(self, status: Status, pivots: Array, failure: str, misses: Array, left: Array = NOTHING) -> str:
        """Return the message of a status: what happened, which row, by how much, and what to try.

        Args:
            status: status of the tick.
            pivots: relative pivots of the rows, shape (m,).
            failure: reason as for :meth:`status`.
            misses: residual of each row, shape (m,) or empty.
            left: remainder of each row outside earlier ones, shape (m,) or empty; see
                :class:`~erugin.controllers.realization.RealizedMotion`.
        """
        rows = self.program.rows
        if status is Status.CONTRADICTORY:
            return f"{describe_contradictions(rows, misses)} {status.sentence}"
        if status is Status.OK and self.method.supports_dependent_rows:
            passed = ", ".join(repr(row) for row, share in zip(rows, left.tolist(), strict=False) if share == 0.0)
            return f"{REALISED} Rows that depend on those before them, or vanish: {passed}." if passed else REALISED
        if status is Status.NOT_CONVERGED and failure:
            return f"{failure} {status.sentence}"
        if status in (Status.NOT_CONVERGED, Status.SINGULAR) and self.method.supports_dependent_rows:
            # A row that is independent of the others is missed for another reason.
            row = f" {describe_dependent_row(rows, pivots)}" if ((pivots < 0.0) & (pivots > -NEAR)).any() else ""
            return f"{describe_missed_rows(rows, misses)}{row} {status.sentence}"
        if status is Status.SINGULAR:
            return f"{describe_dependent_row(rows, pivots)} {status.sentence}"
        return status.sentence

    def of_residuals(self, data: ProgramData, a: Array) -> tuple[Status, str]:
        """Check if accelerations satisfy the rows, independently of the method; return status and message.

        Args:
            data: the equations at this state.
            a: accelerations, shape (nv,).
        """
        program, k = self.program, len(data.natural)
        every = np.vstack([data.natural, data.rows])
        right = np.concatenate([data.natural_right, data.right])
        made, missed = np.abs(every), right - every @ a
        size, floor = np.abs(right) + made @ np.abs(a), ROUNDING * np.maximum(made.sum(axis=1), ROUNDING)
        # Rows of one natural constraint share a unit: rounding in a short one is that of the terms of the long ones.
        for first, last in itertools.pairwise(np.cumsum([0, *data.natural_sizes]).tolist()):
            size[first:last] = size[first:last].max(initial=0.0)
        # Natural rows that depend on each other agree only as far as q and v satisfy them, and runs drift away.
        misses = np.where(
            np.abs(missed) > np.where(np.arange(len(right)) < k, DRIFTED, ACCURATE) * size + floor, missed, 0
        )
        if misses[:k].any():
            contradictions = describe_contradictions(program.robot.natural_rows, misses[:k])
            return Status.CONTRADICTORY, f"{contradictions} They are natural rows, which q and v do not satisfy."
        if misses[k:].any():
            status = Status.NOT_CONVERGED
            return status, f"{describe_missed_rows(program.rows, misses[k:])} {status.sentence}"
        rest, left = row_remainders(every * data.units, missed)
        open_ = (left > REMAINDER) & (np.abs(rest) > left * (ACCURATE * size + floor))
        if program.robot.redundant != "refused":
            open_[:k] = False
        if open_.any():
            names = (*program.robot.natural_rows, *program.rows)
            row = describe_dependent_row(names, np.where(open_, -(left**2), 1.0))
            status = Status.SINGULAR
            return status, f"{row} That remainder is too small for {self._name}. {status.sentence}"
        return Status.OK, ""

    @property
    def _name(self) -> str:
        return type(self.method).__name__

    def of_natural_rows(self, data: ProgramData) -> str:
        """Return a sentence on natural rows that depend on others up to rounding, without reactions; empty if none.

        Args:
            data: the equations at this state.
        """
        robot, A = self.program.robot, data.natural
        if not A.size or not (np.isfinite(A).all() and np.isfinite(data.mass).all()):
            return ""
        names = [
            repr(robot.natural_rows[i]) for i in dependent_rows(A * data.units, data.natural_sizes, SMALLEST_PIVOT**0.5)
        ]
        if not names:
            return ""
        return (
            f"Natural rows {', '.join(names)} of {robot.name} depend on others up to rounding. Remove them with "
            "without_rows(robot, rows), or keep them by mechanism(..., redundant='least-norm')."
        )

    def of_reactions(self, data: ProgramData) -> str:
        """Return a sentence on natural rows that depend on each other; empty if none does.

        Args:
            data: the equations at this state.
        """
        robot, A = self.program.robot, data.natural
        if not A.size or not (np.isfinite(A).all() and np.isfinite(data.mass).all()):
            return ""
        # Name the rows that a factorization skips, by its tolerance and in its units.
        tolerance = 1e-9 if robot.redundant == "refused" else np.sqrt(PIVOT_TOLERANCE)
        names = [repr(robot.natural_rows[i]) for i in dependent_rows(A * data.units, data.natural_sizes, tolerance)]
        if not names:
            return ""
        what = "are meaningless" if robot.redundant == "refused" else "are not unique; those of least norm are returned"
        return f" The reactions {what}: natural rows {', '.join(names)} depend on others."
