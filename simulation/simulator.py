"""A plant, a controller and an integrator, built and compiled once for many runs."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.compiled_rollout import RolloutLoop
from ..symbolic.errors import EruginError, ModelError
from ..symbolic.parameters import NO_PARAMETERS
from ..symbolic.validation import finite, positive, require_distinct_times, step_count, whole
from .batch import CompiledRunner, run_alone, run_together, thread_count
from .closed_loop import ClosedLoop, SymbolicLoop, close_loop
from .initial_conditions import BatchValues, InitialConditions, Values, require_own_names
from .integrators.integrator import Integrator, StartRun
from .integrators.rk4 import RK4
from .metrics import Metric, integrands
from .record import Record, RunSettings
from .start_checks import NaturalCheck, StepLimit, require_parts
from .trajectories import Trajectories
from .trajectory import SimulationError, SimulationInterrupted, Trajectory

Array = NDArray[np.float64]


class Simulator:
    """A plant, a controller and an integrator, built and compiled once for many runs.

    It may be used from several threads: compiled code runs in parallel, and controllers called from Python one run at a
    time. The same holds for different simulators whose controllers are, or contain, the same controller.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None = None,
        *,
        integrator: Integrator | None = None,
        stop: ca.SX | None = None,
        metrics: Mapping[str, Metric] | None = None,
    ) -> None:
        """Join and compile plant, controller and integrator.

        Args:
            robot: the plant.
            controller: the controller; its own model may differ from the plant. None for free motion.
            integrator: the integrator; fixed-step RK4 by default.
            stop: scalar in symbols of plant and controller; a run ends at the first sample where it is positive.
            metrics: metrics to accumulate along a run, by name.

        Raises:
            ModelError: for an argument of a wrong type, a controller that does not fit the plant, or a stop or metric
                that is not a valid scalar.
        """
        require_parts(robot, controller, integrator, stop)
        self.robot, self.controller = robot, controller
        self.controller_parameters = NO_PARAMETERS if controller is None else controller.parameters
        self.metrics: Mapping[str, Metric] = {} if metrics is None else metrics
        self._integrator, self._stop = integrator or RK4(), stop
        dependent = self._integrator.passes_dependent_rows
        expressions = integrands(robot, controller, self.metrics or {})
        self._loop: ClosedLoop = close_loop(robot, controller, stop, monitor_rank=not dependent, metrics=expressions)
        self._rollout_loop = self._integrator.rollout_loop(self._loop)
        # A controller called from Python has a memory: it serves one run at a time.
        self._lock = threading.RLock()
        self._metrics, self._monitors_rank = expressions, not dependent
        self._runners: dict[tuple[bool, bool, int], CompiledRunner | None] = {}
        self._memory_loops: dict[float, tuple[SymbolicLoop, RolloutLoop] | None] = {}
        self._memory: object | None = None
        if self._rollout_loop is None:
            _ = self._start
        self._natural = NaturalCheck(robot, dependent=dependent) if robot.natural else None
        linear = () if controller is None else controller.linearizations
        self._limit = StepLimit(linear, self.controller_parameters, self._integrator) if linear else None

    def __reduce__(self) -> tuple[object, ...]:
        """Return the recipe of a copy, which is built from the same parts and starts without memory."""
        build = functools.partial(Simulator, integrator=self._integrator, stop=self._stop, metrics=self.metrics)
        return build, (self.robot, self.controller)

    def is_vectorized(self, step: float) -> bool:
        """Return True if the lanes of a batch run in parallel in machine code, given a compiler; otherwise one by one.

        Args:
            step: interval of samples [s].
        """
        return self._rollout_loop is not None or self._memory_loop(positive("step", step)) is not None

    @property
    def memory(self) -> object | None:
        """Memory of the controller before it observed the last sample but one of the last run."""
        return self._memory

    def run(
        self,
        q0: ArrayLike,
        v0: ArrayLike,
        duration: float,
        *,
        step: float,
        p: BatchValues = None,
        controller_p: BatchValues = None,
        t0: float = 0.0,
        restart: bool = True,
        progress: Callable[[float], None] | None = None,
        threads: int | None = None,
        every: int = 1,
    ) -> Trajectory:
        """Simulate one motion, or a batch of them.

        A leading batch axis of any argument makes it a batch; arguments without one are the same in all lanes. The
        result is then a :class:`Trajectories`; :meth:`run_batch` has that return type.

        Args:
            q0: coordinates, shape (nq,) or (batch, nq).
            v0: velocities, shape (nv,) or (batch, nv).
            duration: duration of the motion [s].
            step: interval of samples, and of a fixed-step integrator [s]; reduced if it does not divide the duration.
            p: the plant's parameters: a mapping from names to numbers or arrays of shape (batch,) that overrides
                nominal values, or the whole vector, shape (np,) or (batch, np).
            controller_p: the controller's parameters, in the same form.
            t0: time of the start [s].
            restart: True to check the start and reset the controller's memory; False to continue the last run, which is
                not possible for a batch.
            progress: called with the fraction that is done, in [0, 1].
            threads: number of threads for a batch; all that this process may use by default.
            every: one of so many samples is stored, besides the first and the last.

        Returns:
            The samples, the first at t0 and the last a duration later, or earlier if ``stop`` became positive.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input, such as natural constraints that depend on each other
                at the start; for a batch the message names the first such lane.
            SimulationError: if rows become dependent, a value is not finite, or the controller raises an error; the
                trajectory so far is attached. Not for a batch, where ``failure`` has the status of each lane.
            SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
        """
        starts = InitialConditions.of(self.robot, self.controller_parameters, q0, v0, p, controller_p)
        if starts.batch and not restart:
            raise ModelError("a batch cannot continue another run: omit restart=False")
        motions, cause = self._run(starts, duration, step, t0, restart, progress, threads, every)
        if starts.batch:
            # The types cannot tell a batch from a single run: that depends on the shapes of the arguments.
            return cast(Trajectory, motions)
        if motions.failure[0] != Status.OK:
            raise SimulationError(motions.endings[0], motions[0], Status(int(motions.failure[0]))) from cause
        return motions[0]

    def run_batch(
        self,
        q0: ArrayLike,
        v0: ArrayLike,
        duration: float,
        *,
        step: float,
        p: BatchValues = None,
        controller_p: BatchValues = None,
        t0: float = 0.0,
        progress: Callable[[float], None] | None = None,
        threads: int | None = None,
        every: int = 1,
    ) -> Trajectories:
        """Simulate a batch of motions; like :meth:`run`, with the return type of a batch.

        Args:
            q0: coordinates, shape (nq,) or (batch, nq).
            v0: velocities, shape (nv,) or (batch, nv).
            duration: duration of the motions [s].
            step: interval of samples, and of a fixed-step integrator [s].
            p: the plant's parameters: a mapping from names to numbers or arrays of shape (batch,) that overrides
                nominal values, or the whole vector, shape (np,) or (batch, np).
            controller_p: the controller's parameters, in the same form.
            t0: time of the start [s].
            progress: called with the fraction that is done, in [0, 1].
            threads: number of threads; all that this process may use by default.
            every: one of so many samples is stored, besides the first and the last of each lane.

        Returns:
            The samples of all lanes, and the reason for which each ended; a batch of one if no argument has a batch
            axis.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input; the message names the first such lane.
            SimulationInterrupted: on Ctrl-C; the samples so far are attached.
        """
        starts = InitialConditions.of(self.robot, self.controller_parameters, q0, v0, p, controller_p)
        return self._run(replace(starts, batch=True), duration, step, t0, True, progress, threads, every)[0]

    def _run(
        self,
        starts: InitialConditions,
        duration: float,
        step: float,
        t0: float,
        restart: bool,
        progress: Callable[[float], None] | None,
        threads: int | None,
        every: int,
    ) -> tuple[Trajectories, BaseException | None]:
        """Run all lanes; return them and the last error that the controller raised."""
        span, interval, t0 = positive("duration", duration), positive("step", step), finite("t0", t0)
        workers, every = thread_count(threads), whole("every", every)
        if progress is not None and not callable(progress):
            raise ModelError(f"progress must be a function of one number, the fraction that is done, got {progress!r}")
        x, numbers, lanes = starts.x, starts.numbers, len(starts.x)
        plant, own = np.split(numbers, [len(self.robot.parameters)], axis=1)
        steps = step_count(span, interval)
        h = span / steps
        advice = "take a larger step, a shorter duration" + (", fewer lanes" if lanes > 1 else "")
        advice += f", or every= to store fewer samples (one of {every:,} now)"
        found = self._memory_loop(h) if restart else None
        loop, rollout_loop = (self._loop, self._rollout_loop) if found is None else found
        run = RunSettings(
            loop,
            self.controller,
            steps + 1,
            h,
            t0,
            every,
            self.metrics,
            self._lock,
            self._integrator,
            advice,
        )
        # Before the check of all lanes, which takes time.
        with run.memory(lanes):
            pass
        if restart:
            require_distinct_times(t0, span, h)
        with self._lock:
            if self._natural is not None and restart:
                self._natural.check(x, plant, t0, batch=starts.batch)
            if self._limit is not None:
                self._limit.check(own, h, batch=starts.batch)
            before = None if self._natural is None else self._natural.previous_pivots(x, plant, t0, h)
            runner = self._runner(loop, rollout_loop, lanes > 1, self._is_exact(loop, numbers))
            if runner is None and found is not None:
                run, loop = replace(run, loop=self._loop), self._loop
        record = Record(run, numbers, before)
        cause: BaseException | None = None
        spent = 0.0
        try:
            if runner is not None:
                began = time.perf_counter()
                run_together(record, runner.for_run(loop, steps + 1, h, t0), x, workers, progress)
                spent = time.perf_counter() - began
                self._recall(loop, record)
            else:
                with contextlib.ExitStack() as held:
                    for lock in (self._lock, *_locks_of(self.controller)):
                        held.enter_context(lock)
                    for lane in range(lanes):
                        if self.controller is not None and (restart or lane):
                            self.controller.reset()
                        advance = self._start(numbers[lane], h, t0)
                        began = time.perf_counter()
                        try:
                            cause = run_alone(record, lane, advance, x[lane], _share(progress, lane, lanes)) or cause
                        except EruginError as error:
                            if starts.batch:
                                error.add_note(f"in lane {lane} of {lanes}")
                            raise
                        finally:
                            spent += time.perf_counter() - began
                            record.notes[lane] = self._loop.notes
                            self._memory = self._loop.memory
        except KeyboardInterrupt as interrupt:
            record.ending[~record.ended] = "interrupted"
            message = f"interrupted after {np.count_nonzero(record.ended)} of {lanes} lanes"
            motions = record.trajectories(spent)
            if starts.batch:
                raise SimulationInterrupted(cast(Trajectory, motions), message) from interrupt
            raise SimulationInterrupted(motions[0]) from interrupt
        return record.trajectories(spent), cause

    @functools.cached_property
    def _start(self) -> StartRun:
        """Function that starts a run of a single lane where the whole run is not machine code."""
        return self._integrator.prepare(self._loop)

    def _memory_loop(self, step: float) -> tuple[SymbolicLoop, RolloutLoop] | None:
        """Closed loop of a law that remembers, as expressions for a step; None if it must be called from Python."""
        controller = self.controller
        if controller is None or controller.law is not None:
            return None
        # Only the number of samples in a delay depends on the step.
        step = float(f"{step:.9g}")
        if step not in self._memory_loops:
            self._memory_loops[step] = None
            law = controller.sampled_law(step)
            if law is not None:
                loop = SymbolicLoop(
                    self.robot,
                    controller,
                    self._stop,
                    monitor_rank=self._monitors_rank,
                    metrics=self._metrics,
                    law=law,
                )
                rollout_loop = self._integrator.rollout_loop(loop)
                if rollout_loop is not None:
                    self._memory_loops[step] = loop, rollout_loop
        return self._memory_loops[step]

    def _recall(self, loop: ClosedLoop, record: Record) -> None:
        """Give the memory after a run to the controller; after that of the last lane, as if lanes ran in turn."""
        symbolic = loop.symbolic()
        if symbolic is None or symbolic.law is None or self.controller is None or symbolic.law.memory is None:
            return
        law, (earlier, _, last) = symbolic.law, record.memories[-1]
        with self._lock:
            self._memory = law.restore(earlier)
            self.controller.remember(law.restore(last))

    def _runner(
        self, loop: ClosedLoop, rollout_loop: RolloutLoop | None, batch: bool, exact: bool
    ) -> CompiledRunner | None:
        if rollout_loop is None:
            return None
        key = batch, exact, id(loop)
        if key not in self._runners:
            symbolic = loop.symbolic()
            shared = symbolic.shared_parameters if exact and symbolic is not None else ()
            self._runners[key] = CompiledRunner.of(replace(rollout_loop, shared_parameters=shared), batch=batch)
        return self._runners[key]

    def _is_exact(self, loop: ClosedLoop, numbers: Array) -> bool:
        """True if the controller's model has the plant's values in all lanes; numbers of shape (lanes, np)."""
        symbolic = loop.symbolic()
        if symbolic is None or not symbolic.shared_parameters:
            return False
        ours, theirs = (numbers[:, [pair[i] for pair in symbolic.shared_parameters]] for i in (0, 1))
        # Compare bits: 0.0 and -0.0 are equal, but quotients by them are not.
        return ours.tobytes() == theirs.tobytes()

    def values(self, p: Values = None, controller_p: Values = None) -> NDArray[np.float64]:
        """Return the plant's parameters, then the controller's, shape (np,).

        Args:
            p: the plant's parameters: a mapping from names that overrides nominal values, or the whole vector.
            controller_p: the controller's parameters, in the same form.

        Raises:
            ParameterError: for an unknown name, a parameter without a value, or a value out of its range.
            ShapeError: for a vector of another length.
        """
        require_own_names(self.robot, self.controller_parameters, p)
        return np.concatenate([self.robot.parameters.values(p), self.controller_parameters.values(controller_p)])


_LOCKS = tuple(threading.RLock() for _ in range(256))


def _locks_of(controller: Controller | None) -> list[threading.RLock]:
    """Locks of a controller and of all controllers inside it, in a fixed order of acquisition.

    Unrelated controllers seldom share a lock; if they do, one waits for the other.
    """
    waiting, found = [] if controller is None else [controller], dict[int, Controller]()
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting += [each for each in getattr(one, "__dict__", {}).values() if isinstance(each, Controller)]
    return [_LOCKS[place] for place in sorted({(key >> 4) % len(_LOCKS) for key in found})]


def _share(progress: Callable[[float], None] | None, lane: int, lanes: int) -> Callable[[float], None] | None:
    """Return a function of one lane's progress that reports the progress of all lanes."""
    return None if progress is None else lambda share: progress((lane + share) / lanes)
