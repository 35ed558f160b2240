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
from ..multipliers import MultiplierMethod
from ..multipliers.method import ACCURATE, ROUNDING
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
    "The force realises the program. Where rows depend on each other, their multipliers are those of least norm among "
    "many."
)


NOTHING: Array = np.zeros(0)
NEAR = 0.01
"""Square of what is left of a row, as a share of its scale, below which it is near those before it."""
NEARLY_DEPENDENT = 1e-6
"""Relative pivot of a row, the square of what is left of it, below which the numbers of a tick are verified."""
DRIFTED = 1e-5
"""Natural rows contradict each other from this share of what they are made of."""


@dataclass(frozen=True, eq=False)
class ProgramDiagnostics:
    """How the numbers of a state are judged.

    Attributes:
        program: what is realised.
        method: that found the multipliers.
        tolerance: a row is dependent if its relative pivot is not above this.
    """

    program: Program
    method: MultiplierMethod
    tolerance: float

    @property
    def relations(self) -> float:
        """Share of the largest singular value of the rows below which the method may have passed over one of them."""
        return max(SAME, float(np.sqrt(self.method.tolerance))) if self.method.supports_dependent_rows else SAME

    def status(self, finite: bool, pivots: Array, failure: str) -> Status:
        """Status of a tick; rows that vanish are why no acceleration was found, where they do.

        Args:
            finite: whether the output is.
            pivots: relative pivots of the rows, shape (m,).
            failure: why rows nonlinear in the accelerations have no root here; empty if they have.
        """
        status = tick_status(finite, pivots, self.tolerance)
        if status is Status.SINGULAR and self.method.supports_dependent_rows:
            if (pivots == 0.0).any():
                return Status.CONTRADICTORY
            return Status.NOT_CONVERGED if self.method.iterates else Status.SINGULAR
        return Status.NOT_CONVERGED if failure and status is not Status.SINGULAR else status

    def message(self, status: Status, pivots: Array, failure: str, misses: Array, left: Array = NOTHING) -> str:
        """What happened, which row, by how much, and what to try.

        Args:
            status: of the tick.
            pivots: relative pivots of the rows, shape (m,).
            failure: as for :meth:`status`.
            misses: what each row misses its right side by, shape (m,) or empty.
            left: what is left of each row outside those before it, shape (m,) or empty; see
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
            # A row of which all is left is missed for another reason.
            row = f" {describe_dependent_row(rows, pivots)}" if ((pivots < 0.0) & (pivots > -NEAR)).any() else ""
            return f"{describe_missed_rows(rows, misses)}{row} {status.sentence}"
        if status is Status.SINGULAR:
            return f"{describe_dependent_row(rows, pivots)} {status.sentence}"
        return status.sentence

    def of_residuals(self, data: ProgramData, a: Array) -> tuple[Status, str]:
        """Whether accelerations satisfy the rows, and what is said of it; a method's own word is not taken for it.

        Args:
            data: the equations at this state.
            a: accelerations, shape (nv,).
        """
        program, k = self.program, len(data.natural)
        every = np.vstack([data.natural, data.rows])
        right = np.concatenate([data.natural_right, data.right])
        made, missed = np.abs(every), right - every @ a
        size, floor = np.abs(right) + made @ np.abs(a), ROUNDING * np.maximum(made.sum(axis=1), ROUNDING)
        # Rows of one natural constraint share a unit: one that is short is missed by what the long ones are made of.
        for first, last in itertools.pairwise(np.cumsum([0, *data.natural_sizes]).tolist()):
            size[first:last] = size[first:last].max(initial=0.0)
        # Natural rows that depend on each other agree as far as q and v are on them, which runs drift away from.
        misses = np.where(
            np.abs(missed) > np.where(np.arange(len(right)) < k, DRIFTED, ACCURATE) * size + floor, missed, 0
        )
        if misses[:k].any():
            said = describe_contradictions(program.robot.natural_rows, misses[:k])
            return Status.CONTRADICTORY, f"{said} They are natural ones: q and v are not on them."
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
            return status, f"{row} That is too little for {self._name}. {status.sentence}"
        return Status.OK, ""

    @property
    def _name(self) -> str:
        return type(self.method).__name__

    def of_natural_rows(self, data: ProgramData) -> str:
        """Sentence on natural rows of which nothing but rounding is left, so that no reaction is a number; or nothing.

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
            f"Natural rows {', '.join(names)} of {robot.name} depend on others, but for rounding. Leave them out with "
            "without_rows(robot, rows), or keep them by mechanism(..., redundant='least-norm')."
        )

    def of_reactions(self, data: ProgramData) -> str:
        """Sentence on natural rows that depend on each other; empty where none does.

        Args:
            data: the equations at this state.
        """
        robot, A = self.program.robot, data.natural
        if not A.size or not (np.isfinite(A).all() and np.isfinite(data.mass).all()):
            return ""
        # What a factorization passes over is named, at the tolerance and in the units that it goes by.
        tolerance = 1e-9 if robot.redundant == "refused" else np.sqrt(PIVOT_TOLERANCE)
        names = [repr(robot.natural_rows[i]) for i in dependent_rows(A * data.units, data.natural_sizes, tolerance)]
        if not names:
            return ""
        what = "mean nothing" if robot.redundant == "refused" else "are of least norm among many"
        return f" The reactions {what}: natural rows {', '.join(names)} depend on others."
