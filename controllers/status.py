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
    # 8 is what exported C code says of input that is not finite.
    DIVERGED = 9
    BLOCKED = 10

    def __str__(self) -> str:
        """The word; an IntEnum would print its number."""
        return self.name

    @property
    def sentence(self) -> str:
        """What happened and what to try."""
        return _SENTENCES[self]

    @property
    def is_safe(self) -> bool:
        """Whether there is an output that can be applied, be it not the one that was asked for."""
        return self in (Status.OK, Status.LIMITED, Status.HELD)


_SENTENCES = {
    Status.OK: "The program rows are independent and the force realises them.",
    Status.SINGULAR: (
        "The program rows are linearly dependent here, or one of them vanishes, so the multipliers are not determined. "
        "Keep the path away from such a position (an arm stretched out, a place beyond its reach), use fewer rows, or "
        "a smaller step if the position was passed in one."
    ),
    Status.NOT_FINITE: (
        "A number is not finite: the state has diverged, the mass matrix is singular, natural constraints depend on "
        "each other, or the field, a curve or the condition of a row is not defined here. Check the start, try a "
        "smaller step or slower gains."
    ),
    Status.NOT_CONVERGED: (
        "An iteration ended without reaching its tolerance, so that there is no number to go on with. Proximal steps "
        "towards rows that nearly depend on each other take more steps, a smaller epsilon, or LeastNormMultipliers(). "
        "Rows nonlinear in the accelerations may have no root here: ask for less, or choose another branch by "
        "acceleration_guess."
    ),
    Status.CONTRADICTORY: (
        "No force satisfies all rows here: take one of them away, keep away from a position in which they contradict "
        "each other, or start where their deviations agree. Proximal steps may also have been too few."
    ),
    Status.LIMITED: (
        "Limits of inputs, power or joints do not leave room for the whole program: what is applied violates it least, "
        "the rows of higher priority first. Ask for a slower motion or slower gains, or for less."
    ),
    Status.HELD: (
        "There is no new output for this sample: the last safe one is applied in its place. See the message for what "
        "went wrong."
    ),
    Status.BLOCKED: (
        "A point that follows a field gets along its path no more, or has been entered by a barrier. Pass the barriers "
        "on other sides, by choose_sides() or side=, lower margin=, raise limit=, or widen the gap between them."
    ),
    Status.DIVERGED: (
        "The motion has run away, and its numbers mean nothing any more: steps are too long for it, or the loop is "
        "unstable. Take a smaller step, an integrator that chooses its own (DOP853, Radau) or slower gains, and check "
        "the signs of the feedback."
    ),
    Status.FAILED: "The controller or the integrator raised an exception, which is the cause of this error.",
}


def tick_status(finite: bool, pivots: NDArray[np.float64], tolerance: float) -> Status:
    """Status of a tick from its numbers.

    Args:
        finite: whether state and output are.
        pivots: relative pivots of the rows, shape (m,).
        tolerance: a row is dependent if its relative pivot is not above this.
    """
    if finite and all(pivot > tolerance for pivot in pivots.tolist()):
        return Status.OK
    # Behind a row that vanishes the factorization goes on with 0/0: what the first bad pivot is decides.
    bad = pivots[~(pivots > tolerance)]
    if bad.size and not np.isnan(bad[0]):
        return Status.SINGULAR
    return Status.OK if finite and not bad.size else Status.NOT_FINITE


def describe_contradictions(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    """Sentence that names the rows that contradict others, and by how much in their own units; empty if none does."""
    named = _list_missed(rows, misses)
    return f"Rows contradict each other: {named}." if named else ""


def describe_missed_rows(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    """Sentence that names the rows that are missed, and by how much in their own units; empty if none is."""
    named = _list_missed(rows, misses)
    return f"Rows are missed by more than the tolerance: {named}." if named else ""


def _list_missed(rows: Sequence[str], misses: NDArray[np.float64]) -> str:
    return ", ".join(f"{row!r} by {missed:.6g}" for row, missed in zip(rows, misses.tolist(), strict=False) if missed)


def describe_dependent_row(rows: Sequence[str], pivots: NDArray[np.float64]) -> str:
    """Sentence that names the row with the smallest relative pivot, and by how much it is dependent.

    Args:
        rows: names, m of them.
        pivots: relative ones, shape (m,); negative for a row that is missed although so much is left of it.
    """
    bad = np.where(np.isnan(pivots), 0.0, np.abs(pivots))
    i = int(np.argmin(np.where(pivots < 0.0, bad - 2.0, bad)))
    left = f"{float(np.sqrt(bad[i])):.3g}"
    if i == 0:
        beside = f": it is {left} of the largest row of its constraint" if bad[0] > 0.0 else ""
        return f"Row {rows[0]!r} vanishes{beside}."
    before = ", ".join(map(repr, rows[:i]))
    return (
        f"Row {rows[i]!r} depends on {before}, or vanishes: what is left of it outside them is {left} of the largest "
        "row of its constraint."
    )


def describe_vanishing_row(rows: Sequence[str], row: int, share: float) -> str:
    """Sentence that names a row that still is there, and by the step after will not be.

    Args:
        rows: names, m of them.
        row: which one.
        share: its pivot as a share of the largest that it has had.
    """
    before = ", ".join(map(repr, rows[:row]))
    what = f"depends on {before}, or vanishes," if row else "vanishes"
    return (
        f"Row {rows[row]!r} {what} within the next step: its pivot has fallen to {share:.3g} of the largest that it "
        "has had, and falls below zero if it goes on as in the last step."
    )
