"""Samples of runs side by side as they come, and the decision when each of them ends."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..symbolic.errors import (
    ContradictoryProgramError,
    EruginError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)
from ..symbolic.validation import require_memory
from .closed_loop import ClosedLoop
from .divergence import STRETCH, DivergenceDetector
from .integrators.integrator import BLOCK, Integrator
from .metrics import Metric, MetricTotals
from .sample_window import Lanes, SampleWindow
from .termination import Ending, TerminationMonitor

Array = NDArray[np.float64]
FAILURES: Mapping[type[EruginError], Status] = {
    SingularProgramError: Status.SINGULAR,
    NotFiniteError: Status.NOT_FINITE,
    NotConvergedError: Status.NOT_CONVERGED,
    ContradictoryProgramError: Status.CONTRADICTORY,
}
RECORDED_KEYS = ("output", "deviation", "energy", "relative_pivots", "active", "status")
"""What a trajectory tells of; the rest is only judged."""
FULL_LENGTH = "the duration is over"
EXTRA_NUMBERS = 4
"""Numbers of a sample that a trajectory adds: its time and status, and masks on the way to them."""


@dataclass(frozen=True, eq=False)
class RunSettings:
    """What the lanes of a record share.

    Attributes:
        loop: what is recorded.
        controller: what drives it, or None.
        samples: number of samples of a full run.
        step: between samples [s].
        t0: time of the first sample [s].
        every: of so many samples one is kept, and the first and the last of each lane.
        metrics: what is reckoned along the runs, by name.
        lock: controllers are not asked from two threads at once.
        integrator: takes the steps; None where another program does.
        advice: what to try where the samples do not fit into memory.
    """

    loop: ClosedLoop
    controller: Controller | None
    samples: int
    step: float
    t0: float = 0.0
    every: int = 1
    metrics: Mapping[str, Metric] = field(default_factory=dict[str, Metric])
    lock: AbstractContextManager[object] = field(default_factory=threading.Lock)
    integrator: Integrator | None = None
    advice: str = "take a larger step or a shorter duration"

    def time(self, index: int) -> float:
        """Of a sample [s].

        Args:
            index: of the sample.
        """
        return self.t0 + index * self.step

    @property
    def room(self) -> int:
        """Number of samples that are kept of a full run."""
        return -(-(self.samples - 1) // self.every) + 1

    def memory(self, lanes: int) -> AbstractContextManager[None]:
        """Refuses what is allocated inside if the samples that are kept do not fit into memory.

        Args:
            lanes: number of runs side by side.

        Raises:
            ModelError: if they do not fit.
        """
        sample = self.loop.nx + sum(self.loop.sizes[key] for key in RECORDED_KEYS) + EXTRA_NUMBERS
        what = f"{self.room:,} samples" + (f" of each of {lanes:,} lanes" if lanes > 1 else "")
        return require_memory(float(lanes) * self.room * sample, what, self.advice)


class Record:
    """Room for the samples of some lanes, which are runs of one loop side by side.

    Attributes:
        run: what the lanes share.
        p: parameters of the plant, then of the controller, shape (lanes, np).
        states: x at the samples that are kept, shape (lanes, room, nx).
        data: what is recorded there, by key, shape (lanes, room, size) each.
        count: samples so far, shape (lanes,); the last of them may be the one that ended the run.
        kept: how many of them are kept, shape (lanes,).
        ended: whether no more are wanted, shape (lanes,).
        failure: why a lane had to stop, shape (lanes,); OK if it did not have to.
        ending: the same as a sentence, shape (lanes,).
        notes: what a controller without a symbolic law said, shape (lanes,).
        metrics: values at the last sample, shape (lanes, number of metrics).
    """

    def __init__(self, run: RunSettings, p: Array, before: Array | None = None) -> None:
        """Make room.

        Args:
            run: what the lanes share.
            p: parameters of plant and controller, shape (lanes, np).
            before: pivots of natural rows one step before the start, shape (lanes, k), if known.

        Raises:
            ModelError: if the samples do not fit into memory.
        """
        loop, lanes = run.loop, len(p)
        self.run, self.p, self._natural = run, p, before
        # Not zeros: of large arrays the system then gives larger pages, which are written sooner. What stays unwritten
        # is beyond the end of a lane, and becomes NaN.
        with run.memory(lanes):
            self.states = np.empty((lanes, run.room, loop.nx))
            self.data = {key: np.empty((lanes, run.room, loop.sizes[key])) for key in RECORDED_KEYS}
        self.count, self.kept = np.zeros(lanes, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
        self.ended = np.zeros(lanes, dtype=np.bool_)
        self.failure = np.full(lanes, int(Status.OK), dtype=np.int64)
        self.ending = np.full(lanes, FULL_LENGTH, dtype=np.object_)
        self.notes = np.full(lanes, None, dtype=np.object_)
        self.metrics = np.full((lanes, len(run.metrics)), np.nan)
        self._judge: TerminationMonitor | None = None
        self._totals: MetricTotals | None = None
        self._rooms: dict[str, Array] = {}
        self._past = np.empty((lanes, 0, loop.nx))

    def __len__(self) -> int:
        """Number of lanes."""
        return len(self.p)

    def part(self, first: int, end: int) -> Record:
        """Some of the lanes, to be filled and judged by themselves: parts share nothing that is written.

        Args:
            first: of the lanes.
            end: one behind the last of them.
        """
        part, lanes = copy.copy(self), slice(first, end)
        for name in ("p", "states", "count", "kept", "ended", "failure", "ending", "notes", "metrics"):
            setattr(part, name, getattr(self, name)[lanes])
        part.data = {key: room[lanes] for key, room in self.data.items()}
        part._natural = None if self._natural is None else self._natural[lanes]
        part._judge, part._totals, part._rooms = None, None, {}
        part._past = self._past[lanes]
        return part

    def window(self, lanes: Lanes, first: int, most: int = BLOCK) -> SampleWindow:
        """Room for the next block of samples.

        Where all samples are kept it is their place in the record; otherwise, and for what is only judged, it is used
        again for the next block.

        Args:
            lanes: that are still running, ascending.
            first: index of the first sample.
            most: number of samples at most.
        """
        run, n = self.run, min(most, self.run.samples - first)
        place = slice(first, first + n)
        data = {
            key: self.data[key][:, place]
            if self._in_place and key in RECORDED_KEYS
            else self._room(key, most, size)[:, :n]
            for key, size in run.loop.sizes.items()
        }
        states = self.states[:, place] if self._in_place else self._room("states", most, run.loop.nx)[:, :n]
        return SampleWindow(first, n, first + n == run.samples, lanes, states, data)

    def judge(self, window: SampleWindow) -> None:
        """Take over the samples of a window, each lane's up to the first that ends its run.

        Args:
            window: as it came from :meth:`window`, or the first part of it.
        """
        n, lanes = window.n, window.lanes
        if n == 0:
            return
        if self._judge is None:
            run = self.run
            divergence = DivergenceDetector(run.loop, run.integrator, self.p, run.step, run.time, run.lock)
            self._judge = TerminationMonitor(run.loop, run.controller, len(self), run.step, divergence, self._natural)
            self._totals = MetricTotals(tuple(run.metrics.values()), len(self), run.step) if run.metrics else None
        last, over = np.full(len(self), n - 1), np.full(len(self), window.last)
        begun = max(0, window.first - STRETCH)
        past = self.states[:, begun : window.first] if self._in_place else self._past
        endings = self._judge.look(window, past)
        if not self._in_place:
            self._past = np.concatenate([past, window.states], axis=1)[:, -STRETCH:]
        for ending in endings:
            last[ending.lane], over[ending.lane] = ending.index, True
        metrics = None if self._totals is None else self._totals.add(window, last)
        # An interrupt may come at any line: no end is written down before the samples that lead to it.
        self._keep(window, last)
        if metrics is not None:
            self.metrics[lanes] = metrics
        for ending in endings:
            self._end(ending, window)
        self.ended[lanes] = over[lanes]

    def fail(self, lane: int, error: BaseException) -> None:
        """End a lane because the controller or the integrator raised this after the last sample.

        Args:
            lane: which one.
            error: what was raised.
        """
        failure = next((status for kind, status in FAILURES.items() if isinstance(error, kind)), Status.FAILED)
        known = failure is not Status.FAILED
        said = str(error) if known else f"{type(error).__name__}: {error}. {Status.FAILED.sentence}"
        time = self.run.time(max(int(self.count[lane]) - 1, 0))
        self.ended[lane], self.failure[lane] = True, failure
        self.ending[lane] = f"in the step after t = {time:g} s: {said}"

    def times(self) -> Array:
        """Times of the samples that are kept, shape (lanes, room); beyond the end of a lane the last one again."""
        run = self.run
        if len(self) > 1 and (self.count == run.samples).all():
            # One row serves all lanes that ran to the end.
            index = np.minimum(np.arange(run.room) * run.every, run.samples - 1)
            return np.broadcast_to(run.t0 + index * run.step, (len(self), run.room))
        index = np.minimum(np.arange(run.room) * run.every, np.maximum(self.count - 1, 0)[:, None])
        return np.asarray(run.t0 + index * run.step, dtype=np.float64)

    @property
    def _in_place(self) -> bool:
        return self.run.every == 1

    def _room(self, key: str, n: int, size: int) -> Array:
        if key not in self._rooms or self._rooms[key].shape[1] < n:
            self._rooms[key] = np.zeros((len(self), n, size))
        return self._rooms[key]

    def _keep(self, window: SampleWindow, last: NDArray[np.int64]) -> None:
        """Count, and copy what is kept of a window in which lanes end at these samples."""
        lanes, every, first = window.lanes, self.run.every, window.first
        ends = last[lanes]
        if self._in_place:
            self.count[lanes] = self.kept[lanes] = first + ends + 1
            return
        at = np.arange(-first % every, window.n, every)
        places = (first + at) // every
        # The latest sample is kept behind those that fall due, and gives its place to the next that does.
        behind = -(-(first + ends) // every)
        self.kept[lanes] = -(-first // every)
        for target, source in ((self.states, window.states), *((self.data[k], window.data[k]) for k in RECORDED_KEYS)):
            target[lanes[:, None], places] = source[lanes[:, None], at]
            target[lanes, behind] = source[lanes, ends]
        self.count[lanes] = first + ends + 1
        self.kept[lanes] = behind + 1

    def _end(self, ending: Ending, window: SampleWindow) -> None:
        """Write down why a lane ends."""
        lane, run = ending.lane, self.run
        t = run.time(window.first + ending.index)
        self.failure[lane] = ending.status
        if ending.status is Status.OK:
            self.ending[lane] = f"{ending.said} at t = {t:g} s"
        elif not ending.ahead:
            self.ending[lane] = f"at t = {t:g} s, {ending.said}. {ending.status.sentence}"
        else:
            self.ending[lane] = f"at t = {t:g} s, or in the step after it: {ending.said}"
        if ending.by_program and run.controller is not None:
            nq, split = run.loop.robot.coordinates.nq, len(run.loop.robot.parameters)
            x = window.states[lane, ending.index]
            with run.lock:
                status, said = run.controller.diagnose(t, x[:nq], x[nq:], self.p[lane, split:])
            if said:
                self.failure[lane] = status
                self.ending[lane] = f"at t = {t:g} s: {said}"
