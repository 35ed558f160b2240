"""Samples of a run as they come, and the decision when it ends."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status, dependent_row, vanishing_row
from ..symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from .closed_loop import ClosedLoop
from .integrators.integrator import Block
from .natural_rank import NATURAL, NaturalRank
from .trajectory import Trajectory

Array = NDArray[np.float64]
KNOWN: Mapping[type[EruginError], Status] = {
    SingularProgramError: Status.SINGULAR,
    NotFiniteError: Status.NOT_FINITE,
    NotConvergedError: Status.NOT_CONVERGED,
    ContradictoryProgramError: Status.CONTRADICTORY,
}
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

    def __init__(
        self,
        loop: ClosedLoop,
        controller: Controller | None,
        room: int,
        step: float,
        p: Array,
        t0: float = 0.0,
        before: Array | None = None,
    ) -> None:
        """Make room.

        Args:
            loop: what is recorded.
            controller: names the rows.
            room: number of samples of a full run.
            step: between samples [s].
            p: parameters of the plant, then of the controller.
            t0: time of the first sample [s].
            before: pivots of natural rows one step before, shape (k,), if known.
        """
        self._loop, self._robot, self._controller = loop, loop.robot, controller
        self._rows = () if controller is None else controller.rows
        self._tolerance = 0.0 if controller is None else controller.tolerance
        self._step, self._p, self._t0 = step, p, t0
        self._states = np.zeros((room, loop.nx))
        self._data = {key: np.zeros((room, size)) for key, size in loop.sizes.items()}
        self._largest = {key: np.zeros(loop.sizes[key]) for key in ("pivots", "relative_pivots")}
        self._natural = NaturalRank(loop.robot, step, before) if loop.sizes[NATURAL[0]] else None
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
        natural = np.zeros(n, dtype=np.bool_)
        if self._natural is not None:
            changed, falls = self._natural.add(*(self._data[key][new] for key in NATURAL))
            # The last sample has no step after it.
            last = stopped | (np.arange(first, first + n) == len(self._states) - 1)
            natural = known & (changed | (falls & ~last))
        ending = ~finite | singular | stopped | natural
        if ending.any():
            i = int(np.argmax(ending))
            said = self._natural.sentence(i) if self._natural is not None and natural[i] else ""
            self._end(first + i, bool(finite[i]), bool(singular[i]), said)
        for key, largest in self._largest.items():
            pivots = np.where(self._on(first, self.count), self._data[key][first : self.count], 0.0)
            np.maximum(largest, pivots.max(axis=0), out=largest)

    def fail(self, error: BaseException) -> None:
        """End the run because the controller or the integrator raised this after the last sample."""
        self.ended = True
        self.failure = next((status for kind, status in KNOWN.items() if isinstance(error, kind)), Status.FAILED)
        known = self.failure is not Status.FAILED
        said = str(error) if known else f"{type(error).__name__}: {error}. {Status.FAILED.sentence}"
        self.ending = f"in the step after t = {self._time(max(self.count - 1, 0)):g} s: {said}"

    def trajectory(self, wall_time: float) -> Trajectory:
        """The samples so far."""
        n, nq, split = self.count, self._robot.coordinates.nq, len(self._robot.parameters)
        status = np.zeros(n, dtype=np.int64)
        told = self._data["status"][:n]
        if told.shape[1]:
            # Where a state was not finite the controller was not asked.
            status[:] = np.where(np.isfinite(told[:, 0]), told[:, 0], Status.OK)
        if n and self.failure is not Status.OK:
            status[-1] = self.failure
        return Trajectory(
            t=np.asarray(self._t0 + np.arange(n) * self._step, dtype=np.float64),
            q=self._states[:n, :nq].copy(),
            v=self._states[:n, nq:].copy(),
            u=self._data["output"][:n].copy(),
            deviation=self._data["deviation"][:n].copy(),
            energy=self._data["energy"][:n, 0].copy(),
            pivots=self._data["relative_pivots"][:n].copy(),
            active=self._on(0, n).copy(),
            status=status,
            robot=self._robot,
            controller=self._controller,
            p=self._p[:split].copy(),
            law_p=self._p[split:].copy(),
            wall_time=wall_time,
            ending=self.ending,
            notes=self._loop.notes,
        )

    def _ahead(self, key: str, first: int, end: int) -> Array:
        """Pivots extrapolated to the next sample, where they fall to zero; elsewhere as they are.

        A pivot falls to zero linearly in time where a position is singular, and a fixed step jumps across: the
        extrapolation sees it coming at the last sample that still means something. Only a pivot that is small beside
        its largest value so far is extrapolated, so that a large one may fall as fast as it likes. The pivot 1 of a row
        that is off is no value to fall from.
        """
        pivots, on = self._data[key][first:end], self._on(first, end)
        before = self._data[key][max(first - 1, 0) : end - 1]
        if first == 0:
            before = np.vstack([pivots[:1], before])
        on_before = np.vstack([on[:1], on[:-1]]) if first == 0 else self._on(first - 1, end - 1)
        so_far = np.maximum(np.maximum.accumulate(np.where(on, pivots, 0.0), axis=0), self._largest[key])
        falling = (pivots < SMALL * so_far) & on & on_before
        return pivots + np.where(falling, np.minimum(pivots - before, 0.0), 0.0)

    def _on(self, first: int, end: int) -> NDArray[np.bool_]:
        """Which rows are on at samples, shape (end − first, m)."""
        if self._data["active"].shape[1]:
            return np.asarray(self._data["active"][first:end] > 0.0, dtype=np.bool_)
        return np.ones((end - first, self._data["relative_pivots"].shape[1]), dtype=np.bool_)

    def _time(self, index: int) -> float:
        return self._t0 + index * self._step

    def _end(self, index: int, finite: bool, singular: bool, natural: str) -> None:
        self.count, self.ended = index + 1, True
        t = self._time(index)
        if natural:
            self.failure = Status.SINGULAR
            self.ending = f"at t = {t:g} s, or in the step after it: {natural}"
        elif singular:
            self.failure = Status.SINGULAR
            row = self._singular_row(index)
            self.ending = f"at t = {t:g} s, or in the step after it: {row} {Status.SINGULAR.sentence}"
            nq, split = self._robot.coordinates.nq, len(self._robot.parameters)
            x, law_p = self._states[index], self._p[split:]
            said = "" if self._controller is None else self._controller.contradiction(t, x[:nq], x[nq:], law_p)
            if said:
                self.failure = Status.CONTRADICTORY
                self.ending = f"at t = {t:g} s: {said} {Status.CONTRADICTORY.sentence}"
        elif not finite:
            self.failure = Status.NOT_FINITE
            names = self._robot.coordinates.names
            bad = [name for name, value in zip(names, self._states[index], strict=False) if not np.isfinite(value)]
            what = f"not finite: {', '.join(bad) or 'the output or a velocity'}"
            self.ending = f"at t = {t:g} s, {what}. {Status.NOT_FINITE.sentence}"
        else:
            self.ending = f"the stop condition holds at t = {t:g} s"

    def _singular_row(self, index: int) -> str:
        """A sentence on the row that is dependent at a sample, or else on the one that will be first after it."""
        relative, pivots = self._data["relative_pivots"][index], self._data["pivots"][: index + 1]
        here = np.where(pivots[-1] > 0.0, relative, 0.0)
        if not (here > self._tolerance).all():
            return dependent_row(self._rows, here)
        ahead = self._ahead("relative_pivots", 0, index + 1)[-1] > self._tolerance
        row = int(np.argmin(ahead & (self._ahead("pivots", 0, index + 1)[-1] > 0.0)))
        so_far = np.where(self._on(0, index + 1), pivots, 0.0).max(axis=0)
        return vanishing_row(self._rows, row, float(pivots[-1, row] / so_far[row]))


def _every(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether all flags of a row hold, shape (rows,); true for rows without flags."""
    return np.asarray(flags.all(axis=1), dtype=np.bool_)
