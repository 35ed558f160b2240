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
from ..symbolic.errors import EruginError, ModelError
from ..symbolic.parameters import NO_PARAMETERS
from ..symbolic.validation import finite, positive, require_distinct_times, step_count, whole
from .batch import CompiledRunner, LaneRunner, run_alone, run_together, thread_count
from .closed_loop import ClosedLoop
from .initial_conditions import BatchValues, InitialConditions, require_own_names
from .integrators.integrator import Integrator, StartRun
from .integrators.rk4 import RK4
from .metrics import Metric
from .numeric_loop import close_loop, require_parts
from .record import Record, RunSettings
from .start_checks import NaturalCheck, StepLimit
from .trajectories import Trajectories
from .trajectory import SimulationError, SimulationInterrupted, Trajectory

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None


class Simulator:
    """A plant, a controller and an integrator, built and compiled once for many runs.

    Several threads may use one: what is compiled runs side by side, what is called from Python one run after the other.
    So do runs of different simulators that ask the same controller, or controllers with a law inside in common.
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
        """Join and compile.

        Args:
            robot: the plant.
            controller: what drives it; its own model may differ from the plant. None for a free motion.
            integrator: fixed-step RK4 if not given.
            stop: scalar, in symbols of plant and controller; a run ends at the first sample where it is positive.
            metrics: what is reckoned along a run, by name.

        Raises:
            ModelError: if one of these is none, they do not fit, or ``stop`` or a metric is not such a scalar.
        """
        require_parts(robot, controller, integrator, stop)
        self.robot, self.controller = robot, controller
        self.controller_parameters = NO_PARAMETERS if controller is None else controller.parameters
        self.metrics: Mapping[str, Metric] = {} if metrics is None else metrics
        self._integrator, self._stop = integrator or RK4(), stop
        dependent = self._integrator.passes_dependent_rows
        self._loop: ClosedLoop = close_loop(robot, controller, stop, judged=not dependent, metrics=self.metrics)
        self._march = self._integrator.march(self._loop)
        # What is called from Python remembers: it serves one run at a time.
        self._lock = threading.RLock()
        self._runners: dict[tuple[bool, bool], LaneRunner | None] = {}
        if self._march is None:
            _ = self._start
        self._natural = NaturalCheck(robot, dependent=dependent) if robot.natural else None
        linear = () if controller is None else controller.linearizations
        self._limit = StepLimit(linear, self.controller_parameters, self._integrator) if linear else None

    def __reduce__(self) -> tuple[object, ...]:
        """A copy is built from the same parts, and begins without memory."""
        build = functools.partial(Simulator, integrator=self._integrator, stop=self._stop, metrics=self.metrics)
        return build, (self.robot, self.controller)

    @property
    def goes_side_by_side(self) -> bool:
        """Whether the lanes of a batch run side by side in machine code, if there is a compiler; else in turn."""
        return self._march is not None

    @property
    def memory(self) -> object | None:
        """What the controller remembered before it took in the last sample but one of the last run."""
        return self._loop.memory

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

        Whatever has a leading batch axis makes it a batch; what has none is the same in all lanes. What is returned is
        then a :class:`Trajectories`, as :meth:`run_batch` says in its type.

        Args:
            q0: coordinates, shape (nq,) or (batch, nq).
            v0: velocities, shape (nv,) or (batch, nv).
            duration: [s].
            step: interval of samples, and of a fixed-step integrator [s]; less if it does not divide the duration.
            p: the plant's parameters: nominal, overridden by name with numbers or arrays of shape (batch,), or the
                whole vector, shape (np,) or (batch, np).
            controller_p: the controller's parameters, likewise.
            t0: time of the start [s].
            restart: whether the start is looked at and the controller forgets what it remembers; False to go on, which
                a batch cannot.
            progress: called with the share that is done, in [0, 1].
            threads: that a batch may use; all that this process may use if not given.
            every: of so many samples one is kept, and the first and the last.

        Returns:
            The samples, the first at t0 and the last a duration later, or earlier if ``stop`` said so.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input, such as natural constraints that depend on each other
                at the start; of a batch with the first lane that has it.
            SimulationError: if rows become dependent, a number is not finite, or the controller raises anything; the
                trajectory so far is attached. Not in a batch, where each lane has its ``failure``.
            SimulationInterrupted: on Ctrl-C; the trajectory so far is attached.
        """
        starts = InitialConditions.of(self.robot, self.controller_parameters, q0, v0, p, controller_p)
        if starts.batch and not restart:
            raise ModelError("a batch cannot go on from where another run ended (restart=False): its lanes begin anew")
        motions, cause = self._run(starts, duration, step, t0, restart, progress, threads, every)
        if starts.batch:
            # No type tells one from the other by the shape of what comes in.
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
        """Simulate a batch of motions; :meth:`run` with the type of what it returns then.

        Args:
            q0: coordinates, shape (nq,) or (batch, nq).
            v0: velocities, shape (nv,) or (batch, nv).
            duration: [s].
            step: interval of samples, and of a fixed-step integrator [s].
            p: the plant's parameters: nominal, overridden by name with numbers or arrays of shape (batch,), or the
                whole vector, shape (np,) or (batch, np).
            controller_p: the controller's parameters, likewise.
            t0: time of the start [s].
            progress: called with the share that is done, in [0, 1].
            threads: that may be used; all that this process may use if not given.
            every: of so many samples one is kept, and the first and the last of each lane.

        Returns:
            The samples of all lanes, and why each of them ended; a batch of one if nothing has a batch axis.

        Raises:
            ShapeError, ModelError, ParameterError: for bad input, with the first lane that has it.
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
        """All lanes, and what the controller raised in the last of them that it failed."""
        span, interval, t0 = positive("duration", duration), positive("step", step), finite("t0", t0)
        workers, every = thread_count(threads), whole("every", every)
        if progress is not None and not callable(progress):
            raise ModelError(f"progress must be a function of one number, the share that is done, got {progress!r}")
        x, numbers, lanes = starts.x, starts.numbers, len(starts.x)
        plant, own = np.split(numbers, [len(self.robot.parameters)], axis=1)
        steps = step_count(span, interval)
        h = span / steps
        advice = "take a larger step, a shorter duration" + (", fewer lanes" if lanes > 1 else "")
        advice += f", or every=, which keeps one of so many samples (of {every:,} so far)"
        run = RunSettings(
            self._loop,
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
        # Before all lanes are looked at, which takes its time.
        with run.memory(lanes):
            pass
        if restart:
            require_distinct_times(t0, span, h)
        with self._lock:
            if self._natural is not None and restart:
                self._natural.look(x, plant, t0, batch=starts.batch)
            if self._limit is not None:
                self._limit.check(own, h, batch=starts.batch)
            before = None if self._natural is None else self._natural.before(x, plant, t0, h)
            runner = self._runner(lanes > 1, self._is_exact(numbers))
        record = Record(run, numbers, before)
        cause: BaseException | None = None
        spent = 0.0
        try:
            if runner is not None:
                began = time.perf_counter()
                run_together(record, runner, x, workers, progress)
                spent = time.perf_counter() - began
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
        except KeyboardInterrupt as interrupt:
            record.ending[~record.ended] = "interrupted"
            said = f"interrupted after {np.count_nonzero(record.ended)} of {lanes} lanes"
            motions = Trajectories.of(record, spent)
            if starts.batch:
                raise SimulationInterrupted(cast(Trajectory, motions), said) from interrupt
            raise SimulationInterrupted(motions[0]) from interrupt
        return Trajectories.of(record, spent), cause

    @functools.cached_property
    def _start(self) -> StartRun:
        """What runs lane by lane do without machine code for the whole of them."""
        return self._integrator.prepare(self._loop)

    def _runner(self, batch: bool, exact: bool) -> LaneRunner | None:
        if self._march is None:
            return None
        key = batch, exact
        if key not in self._runners:
            symbolic = self._loop.symbolic()
            twins = symbolic.twins if exact and symbolic is not None else ()
            self._runners[key] = CompiledRunner.of(replace(self._march, twins=twins), batch=batch)
        return self._runners[key]

    def _is_exact(self, numbers: Array) -> bool:
        """Whether the controller's model has the plant's values in all lanes; numbers of shape (lanes, np)."""
        symbolic = self._loop.symbolic()
        if symbolic is None or not symbolic.twins:
            return False
        ours, theirs = (numbers[:, [pair[i] for pair in symbolic.twins]] for i in (0, 1))
        # By their bits: 0.0 and -0.0 are equal, and quotients of them are not.
        return ours.tobytes() == theirs.tobytes()

    def values(self, p: Values = None, controller_p: Values = None) -> NDArray[np.float64]:
        """Numbers for the plant's parameters, then the controller's, shape (np,).

        Args:
            p: the plant's parameters: nominal, overridden by name, or the whole vector.
            controller_p: the controller's parameters, likewise.

        Raises:
            ParameterError: for an unknown name, a parameter without any value, or a value out of its range.
            ShapeError: for a vector of another length.
        """
        require_own_names(self.robot, self.controller_parameters, p)
        return np.concatenate([self.robot.parameters.values(p), self.controller_parameters.values(controller_p)])


_LOCKS = tuple(threading.RLock() for _ in range(256))


def _locks_of(controller: Controller | None) -> list[threading.RLock]:
    """Those of a controller and of all controllers inside it, in the one order in which they are taken.

    Controllers that have nothing to do with each other seldom share one, and then wait for each other.
    """
    waiting, found = [] if controller is None else [controller], dict[int, Controller]()
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting += [each for each in getattr(one, "__dict__", {}).values() if isinstance(each, Controller)]
    return [_LOCKS[place] for place in sorted({(key >> 4) % len(_LOCKS) for key in found})]


def _share(progress: Callable[[float], None] | None, lane: int, lanes: int) -> Callable[[float], None] | None:
    """What tells of the share of all lanes, from the share of one that is run after those before it."""
    return None if progress is None else lambda share: progress((lane + share) / lanes)
