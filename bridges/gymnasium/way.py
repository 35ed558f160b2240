"""The way of one lane through a control period, over the ends of phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...controllers.status import Status
from .course import Ran


@dataclass(eq=False)
class Way:
    """What a lane has come to so far.

    Attributes:
        last: its last step, or the start of its last leg.
        paid: so far.
        clearance: least so far.
        why: why it cannot go on; empty if it can.
        status: the same in one word.
        over: whether its last phase is over.
    """

    last: Ran
    paid: float = 0.0
    clearance: float = np.inf
    why: str = ""
    status: Status = Status.OK
    over: bool = False

    def take(self, step: Ran, name: str) -> None:
        """Take in a step, or the start of a leg.

        Args:
            step: of this lane alone.
            name: of the phase.
        """
        self.last = step
        self.paid += float(step.paid[0])
        self.clearance = min(self.clearance, float(step.clearance[0]))
        if step.said:
            self.fail(name, step.said[0], Status(int(step.status[0])))

    def fail(self, name: str, why: str, status: Status = Status.FAILED) -> None:
        """It cannot go on.

        Args:
            name: of the phase.
            why: in words.
            status: in one word.
        """
        self.why, self.status = f"phase {name!r}: {why}", status

    def ran(self, ended: float | None = None) -> Ran:
        """The period as a whole.

        Args:
            ended: when the lane came to its end, if that was before the end of the period [s].
        """
        return Ran(
            np.array([self.paid]),
            self.last.state,
            self.last.seen,
            np.array([np.inf if self.over else -np.inf]),
            np.array([self.clearance]),
            np.array([int(self.status)], dtype=np.int64),
            {0: self.why} if self.why else {},
            {} if ended is None else {0: ended},
        )
