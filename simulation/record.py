"""Record of the samples of parallel runs: storage, the decision when each run ends, and the motions that result."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller, Tick, memory_after
from ..controllers.program.diagnostics import NEARLY_DEPENDENT
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
from .field_motion import find_blocked
from .integrators.integrator import Integrator
from .metrics import Metric, MetricTotals
from .sample_window import BLOCK, Lanes, SampleWindow
from .termination import Ending, TerminationMonitor
from .trajectories import Trajectories

Array = NDArray[np.float64]
FAILURES: Mapping[type[EruginError], Status] = {
    SingularProgramError: Status.SINGULAR,
    NotFiniteError: Status.NOT_FINITE,
    NotConvergedError: Status.NOT_CONVERGED,
    ContradictoryProgramError: Status.CONTRADICTORY,
}
RECORDED_KEYS = ("output", "deviation", "energy", "relative_pivots", "active", "status")
"""Keys stored in a trajectory; the other recorded values are only monitored."""
FULL_LENGTH = "the duration is over"
CONFIRMED = 20
"""Number of consecutive confirmed samples, the most doubtful first, after which all others count as confirmed."""
WORDED = 20
"""Number of status changes of a lane that are explained by their causes; for later ones the status alone is given."""
TAIL = 3
"""Number of samples, the last ones, of which a record keeps the controller's memory."""
EXTRA_NUMBERS = 4
"""Additional values per sample of a trajectory: time, status and temporary masks."""


@dataclass(frozen=True, eq=False)
class RunSettings:
    """Settings shared by the lanes of a record.

    Attributes:
        loop: the closed loop that is recorded.
        controller: the controller, or None.
        samples: number of samples of a full run.
        step: interval between samples [s].
        t0: time of the first sample [s].
        every: one of so many samples is stored, besides the first and the last of each lane.
        metrics: metrics accumulated along the runs, by name.
        lock: guards the controller, which is not called from two threads at once.
        integrator: the integrator; None if another program takes the steps.
        advice: remedy to suggest if the samples do not fit into memory.
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
        """Return the time of a sample [s].

        Args:
            index: index of the sample.
        """
        return self.t0 + index * self.step

    @property
    def capacity(self) -> int:
        """Number of samples stored for a full run."""
        return -(-(self.samples - 1) // self.every) + 1

    def memory(self, lanes: int) -> AbstractContextManager[None]:
        """Context that raises ModelError for allocations inside it if the stored samples do not fit into memory.

        Args:
            lanes: number of parallel runs.

        Raises:
            ModelError: if they do not fit.
        """
        sample = self.loop.nx + sum(self.loop.sizes[key] for key in RECORDED_KEYS) + EXTRA_NUMBERS
        what = f"{self.capacity:,} samples" + (f" of each of {lanes:,} lanes" if lanes > 1 else "")
        return require_memory(float(lanes) * self.capacity * sample, what, self.advice)


class Record:
    """Storage for the samples of some lanes, which are parallel runs of one loop.

    Attributes:
        run: settings shared by the lanes.
        p: parameters of the plant, then of the controller, shape (lanes, np).
        states: x at the stored samples, shape (lanes, capacity, nx).
        data: recorded values at the stored samples, by key, shape (lanes, capacity, size) each.
        count: samples so far, shape (lanes,); the last of them may be the one that ended the run.
        stored: number of stored samples, shape (lanes,).
        ended: True for lanes that have ended, shape (lanes,).
        failure: status for which a lane had to stop, shape (lanes,); OK if it did not have to.
        ending: reason for which each lane ended, as a sentence, shape (lanes,).
        notes: times and messages of status changes of a controller that has a status, shape (lanes,).
        memories: memory of a symbolic law after each of the last samples, shape (lanes, 3, nz).
        metrics: values at the last sample, shape (lanes, number of metrics).
    """

    def __init__(self, run: RunSettings, p: Array, before: Array | None = None) -> None:
        """Allocate the storage.

        Args:
            run: settings shared by the lanes.
            p: parameters of plant and controller, shape (lanes, np).
            before: pivots of natural rows one step before the start, shape (lanes, k), if known.

        Raises:
            ModelError: if the samples do not fit into memory.
        """
        loop, lanes = run.loop, len(p)
        self.run, self.p, self._natural = run, p, before
        # np.empty gets larger memory pages for large arrays than np.zeros. Entries beyond the end of a lane are never
        # written and become NaN.
        with run.memory(lanes):
            self.states = np.empty((lanes, run.capacity, loop.nx))
            self.data = {key: np.empty((lanes, run.capacity, loop.sizes[key])) for key in RECORDED_KEYS}
        self.count, self.stored = np.zeros(lanes, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
        self.ended = np.zeros(lanes, dtype=np.bool_)
        self.failure = np.full(lanes, int(Status.OK), dtype=np.int64)
        self.ending = np.full(lanes, FULL_LENGTH, dtype=np.object_)
        self.notes = np.full(lanes, None, dtype=np.object_)
        self.metrics = np.full((lanes, len(run.metrics)), np.nan)
        self._monitor: TerminationMonitor | None = None
        self._totals: MetricTotals | None = None
        self._rooms: dict[str, Array] = {}
        self._past = np.empty((lanes, 0, loop.nx))
        symbolic = loop.symbolic()
        self._law = None if symbolic is None else symbolic.law
        initial = np.zeros(0) if self._law is None else self._law.initial
        self.memories = np.tile(initial, (lanes, TAIL, 1))
        self._status = np.full(lanes, int(Status.OK), dtype=np.int64)

    def __len__(self) -> int:
        """Number of lanes."""
        return len(self.p)

    def part(self, first: int, end: int) -> Record:
        """Return a record of some of the lanes; parts share no storage that is written.

        Args:
            first: index of the first lane.
            end: index after the last lane.
        """
        part, lanes = copy.copy(self), slice(first, end)
        shared = ("p", "states", "count", "stored", "ended", "failure", "ending", "notes", "metrics", "memories")
        for name in (*shared, "_status"):
            setattr(part, name, getattr(self, name)[lanes])
        part.data = {key: room[lanes] for key, room in self.data.items()}
        part._natural = None if self._natural is None else self._natural[lanes]
        part._monitor, part._totals, part._rooms = None, None, {}
        part._past = self._past[lanes]
        return part

    def window(self, lanes: Lanes, first: int, most: int = BLOCK) -> SampleWindow:
        """Return storage for the next block of samples.

        If all samples are stored, it is a view of the record; otherwise, and for values that are only monitored, it is
        a buffer that the next block reuses.

        Args:
            lanes: indices of the lanes that are still running, ascending.
            first: index of the first sample.
            most: largest number of samples.
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

    def monitor(self, window: SampleWindow) -> None:
        """Check the samples of a window and store those of each lane up to the one that ends its run.

        Args:
            window: a window returned by :meth:`window`, or its first part.
        """
        n, lanes = window.n, window.lanes
        if n == 0:
            return
        if self._monitor is None:
            run = self.run
            divergence = DivergenceDetector(run.loop, run.integrator, self.p, run.step, run.time, run.lock)
            self._monitor = TerminationMonitor(run.loop, run.controller, len(self), run.step, divergence, self._natural)
            self._totals = MetricTotals(tuple(run.metrics.values()), len(self), run.step) if run.metrics else None
        last, over = np.full(len(self), n - 1), np.full(len(self), window.last)
        begun = max(0, window.first - STRETCH)
        past = self.states[:, begun : window.first] if self._in_place else self._past
        endings = self._monitor.find_endings(window, past)
        if not self._in_place:
            self._past = np.concatenate([past, window.states], axis=1)[:, -STRETCH:]
        for ending in endings:
            last[ending.lane], over[ending.lane] = ending.index, True
        metrics = None if self._totals is None else self._totals.add(window, last)
        # An interrupt may occur at any line: no ending is recorded before the samples that lead to it.
        self._store(window, last)
        if metrics is not None:
            self.metrics[lanes] = metrics
        for ending in endings:
            self._end(ending, window, past)
        if self._law is not None:
            self._note_statuses(window, last)
            self._remember(window, last)
        self.ended[lanes] = over[lanes]

    def fail(self, lane: int, error: BaseException) -> None:
        """End a lane because the controller or the integrator raised an error after the last sample.

        Args:
            lane: index of the lane.
            error: the error.
        """
        failure = next((status for kind, status in FAILURES.items() if isinstance(error, kind)), Status.FAILED)
        known = failure is not Status.FAILED
        said = str(error) if known else f"{type(error).__name__}: {error}. {Status.FAILED.sentence}"
        time = self.run.time(max(int(self.count[lane]) - 1, 0))
        self.ended[lane], self.failure[lane] = True, failure
        self.ending[lane] = f"in the step after t = {time:g} s: {said}"

    def times(self) -> Array:
        """Times of the stored samples, shape (lanes, capacity); the last time is repeated beyond the end of a lane."""
        run = self.run
        if len(self) > 1 and (self.count == run.samples).all():
            # One row serves all lanes that ran to the end.
            index = np.minimum(np.arange(run.capacity) * run.every, run.samples - 1)
            return np.broadcast_to(run.t0 + index * run.step, (len(self), run.capacity))
        index = np.minimum(np.arange(run.capacity) * run.every, np.maximum(self.count - 1, 0)[:, None])
        return np.asarray(run.t0 + index * run.step, dtype=np.float64)

    def trajectories(self, wall_time: float) -> Trajectories:
        """Return the motions of runs that have ended or were interrupted; they reuse the arrays of the record.

        Args:
            wall_time: time that they took [s].
        """
        loop, controller, data = self.run.loop, self.run.controller, self.data
        nq, split = loop.robot.coordinates.nq, len(loop.robot.parameters)
        stored, t = self.stored, self.times()
        ended = np.arange(self.run.capacity) >= stored[:, None]
        status = self._statuses()
        switches = data["active"].shape[2] > 0
        active = data["active"] > 0.0 if switches else np.ones(data["relative_pivots"].shape, dtype=np.bool_)
        if ended.any():
            for samples in (t, self.states, *data.values()):
                samples[ended] = np.nan
            active[ended] = False
        notes, endings = [note or () for note in self.notes], list(map(str, self.ending))
        own, law = self.p[:, :split], self.p[:, split:]
        for i, found in enumerate(
            find_blocked(controller, loop.robot, t, self.states[:, :, :nq], stored.tolist(), own, law)
        ):
            for first, last in found.spans:
                within = (t[i] >= first) & (t[i] <= last) & (status[i] == Status.OK)
                status[i, within] = Status.BLOCKED
            notes[i] = tuple(sorted((*notes[i], *found.notes)))
            messages = [message for time, message in found.notes if any(time == span[0] for span in found.spans)]
            endings[i] = "; ".join([endings[i], *messages])
        if controller is not None and controller.tube is not None:
            for i, left in enumerate(controller.tube.departures(t, data["deviation"])):
                notes[i] = tuple(sorted((*notes[i], *left)))
        if controller is not None:
            failing = sorted(self._failing(controller, t, status))
            for i, k, verdict, _ in failing:
                status[i, k] = verdict
            for i, lane in itertools.groupby(failing, key=lambda one: one[0]):
                _, k, _, message = next(lane)
                notes[i] = tuple(sorted((*notes[i], (float(t[i, k]), message))))
        return Trajectories(
            t=t,
            q=self.states[:, :, :nq],
            v=self.states[:, :, nq:],
            u=data["output"],
            deviation=data["deviation"],
            energy=data["energy"][:, :, 0],
            pivots=data["relative_pivots"],
            active=active,
            status=status,
            count=stored.copy(),
            failure=self.failure.copy(),
            endings=tuple(endings),
            notes=tuple(notes),
            metrics={name: self.metrics[:, i].copy() for i, name in enumerate(self.run.metrics)},
            plant=loop.robot,
            controller=controller,
            p=self.p[:, :split].copy(),
            controller_p=self.p[:, split:].copy(),
            wall_time=wall_time,
        )

    @property
    def _in_place(self) -> bool:
        return self.run.every == 1

    def _room(self, key: str, n: int, size: int) -> Array:
        if key not in self._rooms or self._rooms[key].shape[1] < n:
            self._rooms[key] = np.zeros((len(self), n, size))
        return self._rooms[key]

    def _store(self, window: SampleWindow, last: NDArray[np.int64]) -> None:
        """Count the samples of a window up to each lane's last, and copy those to be stored."""
        lanes, every, first = window.lanes, self.run.every, window.first
        ends = last[lanes]
        if self._in_place:
            self.count[lanes] = self.stored[lanes] = first + ends + 1
            return
        at = np.arange(-first % every, window.n, every)
        places = (first + at) // every
        # The latest sample is stored after the regular ones, and the next regular one overwrites it.
        behind = -(-(first + ends) // every)
        self.stored[lanes] = -(-first // every)
        for target, source in ((self.states, window.states), *((self.data[k], window.data[k]) for k in RECORDED_KEYS)):
            target[lanes[:, None], places] = source[lanes[:, None], at]
            target[lanes, behind] = source[lanes, ends]
        self.count[lanes] = first + ends + 1
        self.stored[lanes] = behind + 1

    def _note_statuses(self, window: SampleWindow, last: NDArray[np.int64]) -> None:
        """Note the changes of status up to each lane's last sample, with their causes."""
        if not window.data["status"].shape[2]:
            return
        lanes = window.lanes
        statuses = window.data["status"][lanes, :, 0]
        before = np.column_stack([self._status[lanes], statuses[:, :-1]])
        changed = (statuses != before) & np.isfinite(statuses) & (np.arange(window.n) <= last[lanes][:, None])
        for j, k in np.argwhere(changed).tolist():
            lane, status = int(lanes[j]), Status(int(statuses[j, k]))
            t, said = self.run.time(window.first + k), ""
            notes = self.notes[lane] or ()
            if status is not Status.OK and len(notes) < WORDED:
                tick = self._evaluated(window, lane, k)
                said = str(tick) if isinstance(tick, EruginError) else tick.message
            self.notes[lane] = (*notes, (t, said or status.sentence))
        ends = statuses[np.arange(len(lanes)), last[lanes]]
        self._status[lanes] = np.where(np.isfinite(ends), ends, self._status[lanes])

    def _evaluated(self, window: SampleWindow, lane: int, index: int) -> Tick | EruginError:
        """Evaluate a law with a memory at a sample, for its words; return the error where it has no output."""
        run, law, controller = self.run, self._law, self.run.controller
        assert law is not None
        assert controller is not None
        nq, split = run.loop.robot.coordinates.nq, len(run.loop.robot.parameters)
        x, t = window.states[lane, index], run.time(window.first + index)
        remembered = "memory" in window.data and index > 0
        before = window.data["memory"][lane, index - 1] if remembered else self.memories[lane, -1]
        try:
            with run.lock:
                arguments = controller.arguments(t, x[:nq], x[nq:], self.p[lane, split:])
                memory = memory_after(controller.evaluate(*arguments, law.restore(before)))
                tick = controller.evaluate(*arguments, memory)
                return controller.failure(tick, t) or tick
        except EruginError as error:
            return error

    def _failed_inside(self, window: SampleWindow, lane: int, index: int, past: Array) -> EruginError | None:
        """Return the error of a law with a memory inside the step to a sample; None if it has none there.

        The stages are those of the classical Runge-Kutta method, whatever the method of the run.
        """
        run, law, controller = self.run, self._law, self.run.controller
        assert law is not None
        assert controller is not None
        nq, split = run.loop.robot.coordinates.nq, len(run.loop.robot.parameters)
        if index == 0 and past.shape[1] == 0:
            return None
        x, z = past[lane, -1] if index == 0 else window.states[lane, index - 1], self.memories[lane, -1]
        t = run.time(window.first + index - 1)
        if index > 0:
            z = window.data["memory"][lane, index - 1]
        with run.lock, run.loop.replay(self.p[lane], window.n - index, z) as rate:
            slope = rate(t, x)
            for share in (0.5, 0.5, 1.0):
                time, place = t + share * run.step, x + share * run.step * slope
                if not np.isfinite(place).all():
                    return None
                try:
                    arguments = controller.arguments(time, place[:nq], place[nq:], self.p[lane, split:])
                    tick = controller.evaluate(*arguments, law.restore(z))
                    error = controller.failure(tick, time)
                except EruginError as raised:
                    error = raised
                if error is not None:
                    return error
                slope = rate(time, place)
        return None

    def _remember(self, window: SampleWindow, last: NDArray[np.int64]) -> None:
        """Keep the memories after each lane's last samples."""
        if "memory" not in window.data:
            return
        lanes = window.lanes[:, None]
        places = last[window.lanes][:, None] + np.arange(1 - TAIL, 1)
        within = window.data["memory"][lanes, np.maximum(places, 0)]
        earlier = self.memories[lanes, np.clip(places + TAIL, 0, TAIL - 1)]
        self.memories[window.lanes] = np.where((places >= 0)[:, :, None], within, earlier)

    def _end(self, ending: Ending, window: SampleWindow, past: Array) -> None:
        """Record the reason for which a lane ends."""
        lane, run = ending.lane, self.run
        t = run.time(window.first + ending.index)
        self.failure[lane] = ending.status
        if ending.status is Status.OK:
            self.ending[lane] = f"{ending.reason} at t = {t:g} s"
        elif not ending.ahead:
            self.ending[lane] = f"at t = {t:g} s, {ending.reason}. {ending.status.sentence}"
        else:
            self.ending[lane] = f"at t = {t:g} s, or in the step after it: {ending.reason}"
        if ending.status is Status.NOT_FINITE and "memory" in window.data:
            found: Tick | EruginError | None
            if np.isfinite(window.states[lane, ending.index]).all():
                found, where = self._evaluated(window, lane, ending.index), "at"
            else:
                found, where = self._failed_inside(window, lane, ending.index, past), "in the step before"
            if isinstance(found, EruginError):
                self.failure[lane] = next((s for kind, s in FAILURES.items() if isinstance(found, kind)), Status.FAILED)
                self.ending[lane] = f"{where} t = {t:g} s: {found}"
        if ending.by_program and run.controller is not None:
            nq, split = run.loop.robot.coordinates.nq, len(run.loop.robot.parameters)
            x = window.states[lane, ending.index]
            with run.lock:
                status, said = run.controller.diagnose(t, x[:nq], x[nq:], self.p[lane, split:])
            if said:
                self.failure[lane] = status
                self.ending[lane] = f"at t = {t:g} s: {said}"

    def _failing(
        self, controller: Controller, t: Array, status: NDArray[np.int64]
    ) -> Iterator[tuple[int, int, Status, str]]:
        """Yield lane, sample, status and message where rows are nearly dependent and verification fails.

        Samples with the smallest pivots are checked first, until :data:`CONFIRMED` in a row are confirmed.
        """
        robot = self.run.loop.robot
        nq, law = robot.coordinates.nq, self.p[:, len(robot.parameters) :]
        least = self.data["relative_pivots"].min(axis=2, initial=np.inf)
        lanes, samples = np.nonzero((status == Status.OK) & (least < NEARLY_DEPENDENT))
        confirmed = 0
        for j in np.argsort(least[lanes, samples]).tolist():
            i, k = int(lanes[j]), int(samples[j])
            x = self.states[i, k]
            verdict, message = controller.diagnose(float(t[i, k]), x[:nq], x[nq:], law[i])
            confirmed = confirmed + 1 if verdict is Status.OK else 0
            if confirmed == CONFIRMED:
                return
            if verdict is not Status.OK:
                yield i, k, verdict, message

    def _statuses(self) -> NDArray[np.int64]:
        """Status of each sample; at the end of a lane, the status for which it failed.

        Where a state was not finite the controller was not called.
        """
        recorded, shape = self.data["status"], (len(self), self.run.capacity)
        if not recorded.shape[2] and (self.failure == Status.OK).all():
            return np.full(shape, int(Status.OK), dtype=np.int64)
        lanes, last = np.arange(len(self)), np.maximum(self.stored - 1, 0)
        status = np.full(shape, int(Status.OK), dtype=np.int64)
        if recorded.shape[2]:
            # Entries beyond the end of a lane were never written.
            called = np.isfinite(recorded[:, :, 0]) & (np.arange(self.run.capacity) < self.stored[:, None])
            status[called] = recorded[called, 0]
        final = np.where(self.failure != Status.OK, self.failure, status[lanes, last])
        return np.where(np.arange(self.run.capacity) >= last[:, None], final[:, None], status)
