"""Status of a control tick, with a sentence for each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """Outcome of a tick; the integer is what trajectories store."""

    OK = 0
    SINGULAR = 1
    NOT_FINITE = 2
    FAILED = 3
    NOT_CONVERGED = 4
    CONTRADICTORY = 5
    LIMITED = 6
    HELD = 7
    # 8 is the code of exported C code for input that is not finite.
    DIVERGED = 9
    BLOCKED = 10

    def __str__(self) -> str:
        """Return the name; an IntEnum would print its number."""
        return self.name

    @property
    def sentence(self) -> str:
        """Explanation of the status, and what to try."""
        return _SENTENCES[self]

    @property
    def is_safe(self) -> bool:
        """True if there is an output that can be applied, even if it is not the one that was requested."""
        return self in (Status.OK, Status.LIMITED, Status.HELD)


_SENTENCES = {
    Status.OK: "The program rows are independent and the force realises them.",
    Status.SINGULAR: (
        "The program rows are linearly dependent here, or one of them vanishes, so the multipliers are not determined. "
        "Keep the path away from such a position (an arm stretched out, a target beyond its reach), use fewer rows, "
        "or a smaller step if one step passed the position."
    ),
    Status.NOT_FINITE: (
        "A number is not finite: the state has diverged, the mass matrix is singular, natural constraints depend on "
        "each other, or the field, a curve or the condition of a row is undefined here. Check the initial state; try "
        "a smaller step or slower gains."
    ),
    Status.NOT_CONVERGED: (
        "An iteration ended without reaching its tolerance, so there is no usable result. For proximal steps with "
        "rows that nearly depend on each other, use more steps, a smaller epsilon, or LeastNormMultipliers(). "
        "Rows nonlinear in the accelerations may have no root here: relax them, or choose another branch by "
        "acceleration_guess. The programme of limits may have failed before there was an input to hold: start from a "
        "state that the limits allow."
    ),
    Status.CONTRADICTORY: (
        "No force satisfies all rows here: remove one of them, keep away from positions where they contradict each "
        "other, or start where their deviations agree. There may also have been too few proximal steps."
    ),
    Status.LIMITED: (
        "Limits of inputs, power, joints or points do not allow the whole program: the applied input violates it "
        "least, serving the rows of higher priority first. Use a slower motion, slower gains or fewer rows."
    ),
    Status.HELD: (
        "There is no new output for this sample, because the law or its programme of limits failed: the last safe one "
        "is applied instead. In Python the message has the cause."
    ),
    Status.BLOCKED: (
        "A point that follows a field no longer advances along its path, or lies inside a barrier. Pass the barriers "
        "on other sides, by choose_sides() or side=, lower margin=, raise limit=, or widen the gap between them."
    ),
    Status.DIVERGED: (
        "The motion has diverged and its numbers are meaningless: the steps are too long, or the loop is unstable. "
        "Use a smaller step, an integrator that chooses its steps (DOP853, Radau) or slower gains, and check the "
        "signs of the feedback."
    ),
    Status.FAILED: "The controller or the integrator raised an exception, the cause of this error.",
}


def tick_status(finite: bool, pivots: NDArray[np.float64], tolerance: float) -> Status:
    """Return the status of a tick from its numbers.

    Args:
        finite: True if state and output are finite.
        pivots: relative pivots of the rows, shape (m,).
        tolerance: a row is dependent if its relative pivot is not above this.
    """
    if finite and all(pivot > tolerance for pivot in pivots.tolist()):
        return Status.OK
    # After a row that vanishes the factorization continues with 0/0, so the first bad pivot decides.
    bad = pivots[~(pivots > tolerance)]
    if bad.size and not np.isnan(bad[0]):
        return Status.SINGULAR
    return Status.OK if finite and not bad.size else Status.NOT_FINITE


def describe_contradictions(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    """Return a sentence naming the rows that contradict others, and by how much in their units; empty if none does."""
    named = _list_missed(rows, misses)
    return f"Rows contradict each other: {named}." if named else ""


def describe_missed_rows(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    """Return a sentence naming the rows that are missed, and by how much in their units; empty if all are satisfied."""
    named = _list_missed(rows, misses)
    return f"Rows are missed by more than the tolerance: {named}." if named else ""


def _list_missed(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    return ", ".join(f"{row!r} by {missed:.6g}" for row, missed in zip(rows, misses.tolist(), strict=False) if missed)


def describe_dependent_row(rows: Sequence[str], pivots: NDArray[np.float64]) -> str:
    """Return a sentence naming the row with the smallest relative pivot, and how nearly it depends on others.

    Args:
        rows: names of the rows, m of them.
        pivots: relative pivots, shape (m,); minus the pivot for a row that is missed although so much of it is left.
    """
    bad = np.where(np.isnan(pivots), 0.0, np.abs(pivots))
    i = int(np.argmin(np.where(pivots < 0.0, bad - 2.0, bad)))
    left = f"{float(np.sqrt(bad[i])):.3g}"
    if i == 0:
        beside = f": it is {left} of the largest row of its constraint" if bad[0] > 0.0 else ""
        return f"Row {rows[0]!r} vanishes{beside}."
    before = ", ".join(map(repr, rows[:i]))
    return (
        f"Row {rows[i]!r} depends on {before}, or vanishes: its remainder outside them is {left} of the largest row "
        "of its constraint."
    )


def describe_vanishing_row(rows: Sequence[str], row: int, share: float) -> str:
    """Return a sentence naming a row that still exists, but is about to vanish within the next step.

    Args:
        rows: names of the rows, m of them.
        row: index of the row, from 0.
        share: its pivot as a share of the largest that it has had.
    """
    before = ", ".join(map(repr, rows[:row]))
    what = f"depends on {before}, or vanishes," if row else "vanishes"
    return (
        f"Row {rows[row]!r} {what} within the next step: its pivot has fallen to {share:.3g} of the largest that it "
        "has had, and falls below zero if it continues as in the last step."
    )
