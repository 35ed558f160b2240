"""What is said of one state of a program: its status, a sentence, and the error that a controller raises for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..robots.natural import dependent_rows
from ..symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from .multipliers import MultiplierMethod
from .multipliers.multipliers import MISSED, ROUNDING
from .program import Program
from .program_data import ProgramData
from .status import Status, contradicting_rows, dependent_row, judge

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


@dataclass(frozen=True, eq=False)
class ProgramVerdict:
    """How the numbers of a state are judged.

    Attributes:
        program: what is realised.
        method: that found the multipliers.
        tolerance: a row is dependent if its relative pivot is not above this.
    """

    program: Program
    method: MultiplierMethod
    tolerance: float

    def status(self, finite: bool, pivots: Array, failure: str) -> Status:
        """Status of a tick; rows that vanish are why no acceleration was found, where they do.

        Args:
            finite: whether the output is.
            pivots: relative pivots of the rows, shape (m,).
            failure: why rows nonlinear in the accelerations have no root here; empty if they have.
        """
        status = judge(finite, pivots, self.tolerance)
        if status is Status.SINGULAR and self.method.handles_dependence:
            return Status.CONTRADICTORY
        return Status.NOT_CONVERGED if failure and status is not Status.SINGULAR else status

    def message(self, status: Status, pivots: Array, failure: str, misses: Array) -> str:
        """What happened, which row, by how much, and what to try.

        Args:
            status: of the tick.
            pivots: relative pivots of the rows, shape (m,).
            failure: as for :meth:`status`.
            misses: what each row misses its right side by, shape (m,) or empty.
        """
        if status is Status.CONTRADICTORY:
            return f"{contradicting_rows(self.program.rows, misses)} {status.sentence}"
        if status is Status.OK and self.method.handles_dependence:
            return REALISED
        if status is Status.NOT_CONVERGED:
            return f"{failure} {status.sentence}"
        if status is Status.SINGULAR:
            return f"{dependent_row(self.program.rows, pivots)} {status.sentence}"
        return status.sentence

    def of_reactions(self, data: ProgramData, a: Array) -> str:
        """Sentences on natural rows that depend on each other, and that contradict each other; empty where none does.

        Args:
            data: the equations at this state.
            a: accelerations, shape (nv,).
        """
        robot, A, b = self.program.robot, data.natural, data.natural_right
        if not A.size or not np.isfinite(A).all():
            return ""
        names = [repr(robot.natural_rows[i]) for i in dependent_rows(A, data.natural_sizes)]
        if not names:
            return ""
        what = "mean nothing" if robot.redundant == "refused" else "are of least norm among many"
        told = f" The reactions {what}: natural rows {', '.join(names)} depend on others."
        missed, size = b - A @ a, np.abs(b) + np.abs(A) @ np.abs(a)
        misses = np.where(np.abs(missed) > MISSED * size + ROUNDING, missed, 0.0)
        if np.isfinite(misses).all() and (contradicting := contradicting_rows(robot.natural_rows, misses)):
            told += f" {contradicting} They are natural ones: q and v are not on them."
        return told
