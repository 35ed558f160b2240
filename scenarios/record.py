"""Samples of a run as they come, and the decision when it ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status, dependent_row
from ..symbolic.errors import NotFiniteError, SingularProgramError
from .closed_loop import ClosedLoop
from .integrators.integrator import Block
from .trajectory import Trajectory

Array = NDArray[np.float64]
SMALL = 0.1
"""Share of its largest value below which a falling pivot is extrapolated."""


class Record:
    """Room for the samples of one run.

    Attributes:
        count: samples so far; the last of them may be the one that ended the run.
        ended: whether no more are wanted.
        failure: why it had to stop; OK if it did not have to.
        ending: the same as a sentence.
    """

    def __init__(self, loop: ClosedLoop, controller: Controller | None, room: int, step: float, p: Array) -> None:
        """Make room.

        Args:
            loop: what is recorded.
            controller: names the rows.
            room: number of samples of a full run.
            step: between samples [s].
            p: parameters of the plant, then of the controller.
        """
        law = None if controller is None else controller.law
        self._robot, self._controller = loop.robot, controller
        self._rows = () if law is None else law.rows
        self._tolerance = 0.0 if law is None else law.tolerance
        self._step, self._p = step, p
        self._states = np.zeros((room, loop.nx))
        self._data = {key: np.zeros((room, size)) for key, size in loop.sizes.items()}
        self._largest = {key: np.zeros(loop.sizes[key]) for key in ("pivots", "relative_pivots")}
        self.count = 0
        self.ended = False
        self.failure = Status.OK
        self.ending = "the duration is over"

    def add(self, block: Block) -> None:
        """Take over a block, up to the first sample that ends the run."""
        first, n = self.count, min(block.filled, len(self._states) - self.count)
        if n == 0:
            return
        new = slice(first, first + n)
        self._states[new] = block.states[:, :n].T
        for key, rows in self._data.items():
            rows[new] = block.recorded[key][:, :n].T
        self.count, self.ended = first + n, first + n == len(self._states)
        known = _every(np.isfinite(self._states[new]))
        finite = known & _every(np.isfinite(self._data["output"][new]))
        independent = self._ahead("relative_pivots", first, first + n) > self._tolerance
        dependent = ~(independent & (self._ahead("pivots", first, first + n) > 0.0))
        # Behind a row that vanishes the factorization goes on with 0/0: what the first bad pivot is decides.
        leading = dependent & (np.cumsum(dependent, axis=1) == 1)
        singular = known & ~_every(~(leading & ~np.isnan(self._data["relative_pivots"][new])))
        stopped = ~_every(~(self._data["stop"][new] > 0.0))
        ending = ~finite | singular | stopped
        if ending.any():
            i = int(np.argmax(ending))
            self._end(first + i, bool(finite[i]), bool(singular[i]))
        for key, largest in self._largest.items():
            np.maximum(largest, self._data[key][new].max(axis=0), out=largest)

    def fail(self, error: BaseException) -> None:
        """End the run because the controller or the integrator raised this after the last sample."""
        self.ended = True
        singular, infinite = isinstance(error, SingularProgramError), isinstance(error, NotFiniteError)
        self.failure = Status.SINGULAR if singular else Status.NOT_FINITE if infinite else Status.FAILED
        said = str(error) if singular or infinite else f"{type(error).__name__}: {error}. {Status.FAILED.sentence}"
        self.ending = f"in the step after t = {max(self.count - 1, 0) * self._step:g} s: {said}"

    def trajectory(self, wall_time: float) -> Trajectory:
        """The samples so far."""
        n, nq, split = self.count, self._robot.coordinates.nq, len(self._robot.parameters)
        status = np.zeros(n, dtype=np.int64)
        if n and self.failure is not Status.OK:
            status[-1] = self.failure
        return Trajectory(
            t=np.asarray(np.arange(n) * self._step, dtype=np.float64),
            q=self._states[:n, :nq].copy(),
            v=self._states[:n, nq:].copy(),
            u=self._data["output"][:n].copy(),
            deviation=self._data["deviation"][:n].copy(),
            energy=self._data["energy"][:n, 0].copy(),
            pivots=self._data["relative_pivots"][:n].copy(),
            status=status,
            robot=self._robot,
            controller=self._controller,
            p=self._p[:split].copy(),
            law_p=self._p[split:].copy(),
            wall_time=wall_time,
            ending=self.ending,
        )

    def _ahead(self, key: str, first: int, end: int) -> Array:
        """Pivots extrapolated to the next sample, where they fall to zero; elsewhere as they are.

        A pivot falls to zero linearly in time where a position is singular, and a fixed step jumps across: the
        extrapolation sees it coming at the last sample that still means something. Only a pivot that is small beside
        its largest value so far is extrapolated, so that a large one may fall as fast as it likes.
        """
        pivots = self._data[key][first:end]
        before = self._data[key][max(first - 1, 0) : end - 1]
        if first == 0:
            before = np.vstack([pivots[:1], before])
        so_far = np.maximum(np.maximum.accumulate(pivots, axis=0), self._largest[key])
        falling = pivots < SMALL * so_far
        return pivots + np.where(falling, np.minimum(pivots - before, 0.0), 0.0)

    def _end(self, index: int, finite: bool, singular: bool) -> None:
        self.count, self.ended = index + 1, True
        t = index * self._step
        if singular:
            self.failure = Status.SINGULAR
            ahead = self._ahead("relative_pivots", index, index + 1)[0]
            vanishing = self._ahead("pivots", index, index + 1)[0] <= 0.0
            row = dependent_row(self._rows, np.where(vanishing, 0.0, ahead))
            self.ending = f"at t = {t:g} s, or in the step after it: {row} {Status.SINGULAR.sentence}"
        elif not finite:
            self.failure = Status.NOT_FINITE
            names = self._robot.coordinates.names
            bad = [name for name, value in zip(names, self._states[index], strict=False) if not np.isfinite(value)]
            what = f"not finite: {', '.join(bad) or 'the output or a velocity'}"
            self.ending = f"at t = {t:g} s, {what}. {Status.NOT_FINITE.sentence}"
        else:
            self.ending = f"the stop condition holds at t = {t:g} s"


def _every(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether all flags of a row hold, shape (rows,); true for rows without flags."""
    return np.asarray(flags.all(axis=1), dtype=np.bool_)
