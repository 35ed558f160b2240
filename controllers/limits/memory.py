"""What a bounded controller decides at one tick, and what it remembers of the last samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.arrays import instant
from ..status import Status
from .levels import LevelAnswer

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoundedOutcome:
    """The decision of one tick.

    Attributes:
        input: u, shape (nu,).
        status: OK, LIMITED or HELD.
        missed: what the input leaves of the program, Θ a − β, in the unit of each row, 0 where that is rounding,
            shape (m,).
        beyond: by how much each limit row is exceeded, in its unit, shape (l,).
        short: by how much the power of each input, and their sum, are exceeded, shape (nu + 1,) [W].
        failed: what the solver did not find, and its word; empty if it did.
        found: what the next tick may start from; None where no quadratic programme was needed.
        message: what happened and what to try; empty where nobody has asked.
    """

    input: Array
    status: Status
    missed: Array
    beyond: Array
    short: Array
    failed: str = ""
    found: LevelAnswer | None = None
    message: str = ""


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of the motion, and what was decided at it.

    Attributes:
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters, the whole vector.
        outcome: of the tick.
    """

    t: float
    q: Array
    v: Array
    p: Array
    outcome: BoundedOutcome

    def is_at(self, t: float, q: Array, v: Array, p: Array) -> bool:
        """Whether it was taken there.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
        """
        return bool(t == self.t and (q == self.q).all() and (v == self.v).all() and (p == self.p).all())


@dataclass(frozen=True, eq=False)
class BoundedMemory:
    """The last two samples: at the last one, the input of the one before is what the drives come from.

    Attributes:
        before: the one before the last, if there is one.
        last: the last, if there is one.
    """

    before: Sample | None = None
    last: Sample | None = None

    def anchor(self, t: float) -> Sample | None:
        """The sample from whose input the drives come at a time.

        Args:
            t: time [s].
        """
        t = instant("t", t)
        return self.last if self.last is not None and t > self.last.t else self.before
