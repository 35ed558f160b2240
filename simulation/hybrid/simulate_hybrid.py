"""Simulation of hybrid motions: modes that follow one another by events, any number of times.

A mode runs to its first event; events that accumulate in a finite time (Zeno behaviour, as the bounces of a ball) are
detected by the times between them.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.status import Status
from ...robots.contact.impact import Impact
from ...robots.robot import Robot
from ...symbolic.errors import EruginError, ModelError, ParameterError, require_name, unknown_name
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite, positive, require_distinct_times, require_memory, step_count, vector, whole
from ..initial_conditions import Values, require_near_zero
from ..integrators.integrator import Integrator
from ..phased_trajectory import PhasedTrajectory
from ..record import RunSettings
from ..simulator import Simulator
from ..trajectory import SimulationError, Trajectory
from ..zero_crossing import RepeatedStep, truncated
from .event_detection import EventCandidate, EventMonitor, EventState, first_candidate, initial_state, locate_event
from .jumps import PreparedJump
from .modes import Event, Mode
from .phase import require_free_contact_parameters
from .phase_record import PhasedSimulationError, PhaseRecord, plant_values, require_values

CROWDED_EVENTS = 100
"""Number of events within the shortest time that counts as accumulation."""


class ZenoDetector:
    """Detector of accumulating events, from the times of the last events.

    It has two criteria: four intervals between events that decrease like a geometric series, the last shorter than
    ``shortest``; or a hundred events within ``shortest``. Two events that merely coincide, after others at decreasing
    intervals, are not a series: the last quotient of intervals is then much smaller than those before.
    """

    def __init__(self, shortest: float) -> None:
        """Start with no events.

        Args:
            shortest: interval between two events that counts as zero [s].
        """
        self._shortest = shortest
        self._times: list[float] = []
        self._settled: dict[str, float] = {}

    def add(self, t: float) -> float | None:
        """Add an event.

        Args:
            t: time of the event [s].

        Returns:
            The time at which events accumulate, if they do: the limit of the geometric series of the last two
            intervals,
                or else this time [s].
        """
        self._times = [*self._times[-CROWDED_EVENTS + 1 :], t]
        between = [after - before for before, after in itertools.pairwise(self._times[-5:])]
        if len(between) == 4 and 0.0 < between[-1] < self._shortest and min(between) > 0.0:
            shares = [later / earlier for earlier, later in itertools.pairwise(between)]
            even = all(later > earlier / 2.0 for earlier, later in itertools.pairwise(shares))
            if even and max(shares) < 1.0:
                return t + between[-1] * shares[-1] / (1.0 - shares[-1])
        if len(self._times) == CROWDED_EVENTS and t - self._times[0] < self._shortest:
            return t
        return None

    def settle(self, mode: str, t: float) -> bool:
        """Forget the events because a mode follows; return False if the same mode has just followed.

        Args:
            mode: name of the mode.
            t: time [s].
        """
        allowed = not t - self._settled.get(mode, -math.inf) < self._shortest
        self._settled[mode], self._times = t, []
        return allowed


Array = NDArray[np.float64]
FIRST = 8
"""Steps taken before events are checked, while one of them is returning."""


@dataclass(frozen=True, eq=False)
class EventOccurrence:
    """An event that ended a segment.

    Attributes:
        event: the event.
        rate: rate of its expression at the last sample.
        mode: name of the mode in which it happened.
        passed: other events of the mode that happened earlier and have not returned to zero since.
    """

    event: Event
    rate: float
    mode: str
    passed: tuple[Event, ...] = ()


class ModeRunner:
    """Runs of one mode, compiled once.

    Attributes:
        mode: the mode.
        name: name of the mode.
        phase: the mode as a phase without an end.
        plant: the plant in this mode.
        simulator: simulator that ends at the first sample at which an event's expression is positive.
        jumps: prepared jumps of its events.
    """

    def __init__(self, robot: Robot, name: str, mode: Mode, integrator: Integrator | None) -> None:
        """Compile.

        Args:
            robot: the motion's plant.
            name: name of the mode.
            mode: the mode.
            integrator: the integrator; fixed-step RK4 if None.

        Raises:
            ModelError: if plant, controller and events do not fit each other.
        """
        self.mode, self.name, self.phase, self._integrator = mode, name, mode.phase(name), integrator
        self.jumps: dict[Event, PreparedJump] = {}
        try:
            self.plant = self.phase.plant(robot)
            for event in mode.events:
                # One by one, so that the message names the event.
                _require_fit(self.plant, mode, event)
                if event.jump is not None:
                    self.jumps[event] = _prepare_jump(self.plant, event)
            rising = [event.rising for event in mode.events]
            stop = functools.reduce(ca.fmax, rising) if rising else None
            self.simulator = Simulator(self.plant, mode.controller, integrator=integrator, stop=stop)
        except ModelError as error:
            raise ModelError(f"mode {name!r}: {error}") from error
        self._watch = EventMonitor(self.plant, mode.controller, mode.events)

    @functools.cached_property
    def _free(self) -> Simulator:
        """Simulator without a stop, used while an event is returning."""
        return Simulator(self.plant, self.mode.controller, integrator=self._integrator)

    def run(
        self,
        q: Array,
        v: Array,
        span: float,
        step: float,
        p: Values,
        controller_p: Values,
        t0: float,
        tolerance: float,
        previous: EventOccurrence | None,
    ) -> tuple[Trajectory, EventOccurrence | None]:
        """Run the mode from its start to its first event.

        Args:
            q: coordinates at the start, shape (nq,).
            v: velocities at the start, shape (nv,).
            span: longest duration [s].
            step: interval of samples [s].
            p: the plant's parameters.
            controller_p: the controller's parameters.
            t0: time of the start [s].
            tolerance: accuracy of the time of an event [s].
            previous: event by which the mode was entered, if any.

        Returns:
            The samples, and the event that ended them, or None.

        Raises:
            SimulationError: if the run fails before an event, or an event's expression is NaN.
            SimulationInterrupted: on Ctrl-C.
        """
        step = min(step, span)
        plant, own = np.split(self.simulator.values(p, controller_p), [len(self.plant.parameters)])
        now = self._watch.now(t0, q, v, plant, own)
        if not (now > 0.0).any():
            run, failure = _run_until_failure(self.simulator, q, v, span, step, p, controller_p, t0)
            found = self._first(self.simulator, run, [EventState.ARMED] * len(now), p, controller_p, tolerance, failure)
            return found or (run, None)
        steps = step_count(span, step)
        h, count = span / steps, min(FIRST, steps)
        while True:
            run, failure = _run_until_failure(self._free, q, v, count * h, h, p, controller_p, t0)
            values, rates = self._watch.along(truncated(run, 1, ""))
            initial = [
                self._initial_state(*each, previous) for each in zip(self.mode.events, values[0], rates[0], strict=True)
            ]
            if None in initial:
                k = initial.index(None)
                event, passed = self.mode.events[k], self._passed(initial)
                message = f"event {event.name!r} at once, at t = {t0:.9g} s"
                return truncated(run, 1, message), EventOccurrence(event, float(rates[0, k]), self.name, passed)
            states = [state for state in initial if state is not None]
            found = self._first(self._free, run, states, p, controller_p, tolerance, failure)
            if found is not None:
                return found
            if count == steps:
                return run, None
            count = min(2 * count, steps)

    def _first(
        self,
        simulator: Simulator,
        run: Trajectory,
        states: list[EventState],
        p: Values,
        controller_p: Values,
        tolerance: float,
        failure: SimulationError | None,
    ) -> tuple[Trajectory, EventOccurrence] | None:
        """Return the run up to the first event, if there is one; otherwise raise its failure, if any."""
        memory = simulator.memory
        values, rates = self._watch.along(run)
        unknown = np.isnan(values).any(axis=1)
        known = int(np.argmax(unknown)) if unknown.any() else len(run)

        @functools.cache
        def step_at(index: int) -> RepeatedStep:
            part, before = truncated(run, index + 2, ""), memory
            if memory is not None and index + 2 < len(run):
                # Only a run that ends at this sample knows the controller's memory at it.
                h = float(run.t[1] - run.t[0])
                part = simulator.run(
                    run.q[0], run.v[0], (index + 1) * h, step=h, p=p, controller_p=controller_p, t0=float(run.t[0])
                )
                before = simulator.memory
            return RepeatedStep(simulator, part, p, controller_p, before)

        best: tuple[int, float, int] | None = None
        for k, state in enumerate(states):
            begin = 0
            while True:
                times = run.t[:known]
                suspicion = first_candidate(times, values[:known, k], rates[:known, k], state, begin)
                if suspicion is None or (best is not None and suspicion.index > best[0]):
                    break
                length = self._length(step_at(suspicion.index), k, suspicion, values, rates, tolerance)
                if length is not None:
                    best = min(best or (len(run), math.inf, 0), (suspicion.index, length, k))
                    break
                begin = suspicion.index + 1
                state = suspicion.state if values[begin, k] > 0.0 else EventState.ARMED
        if best is None:
            if failure is not None:
                raise failure
            if known < len(run):
                name = self.mode.events[int(np.argmax(np.isnan(values[known])))].name
                message = f"at t = {run.t[known]:.9g} s: the expression of event {name!r} is NaN"
                raise SimulationError(message, truncated(run, known + 1, message), Status.NOT_FINITE)
            return None
        index, length, k = best
        step, event = step_at(index), self.mode.events[k]
        cut = step.cut(length, f"event {event.name!r} at t = {step.start + length:.9g} s")
        values, rates = self._watch.along(cut)
        return cut, EventOccurrence(event, float(rates[-1, k]), self.name, self._passed(states, values))

    def _initial_state(
        self, event: Event, value: float, rate: float, previous: EventOccurrence | None
    ) -> EventState | None:
        """State of an event at the start of the mode; None if it happens at once."""
        if previous is not None and previous.mode == self.name and event in previous.passed:
            return EventState.PASSED if value > 0.0 else EventState.ARMED
        before = previous.rate if previous is not None and previous.event is event else None
        return initial_state(value, rate, before, jumped=event.jump is not None)

    def _passed(self, states: Sequence[EventState | None], values: Array | None = None) -> tuple[Event, ...]:
        """Events that had happened before a segment, and have been positive along all of it."""
        each = zip(self.mode.events, states, strict=True)
        return tuple(
            event
            for k, (event, state) in enumerate(each)
            if state is EventState.PASSED and (values is None or (values[:, k] > 0.0).all())
        )

    def _length(
        self, step: RepeatedStep, k: int, suspicion: EventCandidate, values: Array, rates: Array, tolerance: float
    ) -> float | None:
        """Length of a step's part after which an event happens; None if it does not happen."""

        def look(length: float) -> tuple[float, float]:
            found, speeds = self._watch.along(step.repeat(length))
            return float(found[-1, k]), float(speeds[-1, k])

        i = suspicion.index
        ends = [(float(values[j, k]), float(rates[j, k])) for j in (i, i + 1)]
        return locate_event(look, step.length, ends[0], ends[1], suspicion, step.tolerance(tolerance))


def _run_until_failure(
    simulator: Simulator, q: Array, v: Array, span: float, step: float, p: Values, controller_p: Values, t0: float
) -> tuple[Trajectory, SimulationError | None]:
    """Return a run and its failure, if it fails: an event before the failure takes precedence."""
    try:
        return simulator.run(q, v, span, step=step, p=p, controller_p=controller_p, t0=t0), None
    except SimulationError as error:
        return error.trajectory, error


def _prepare_jump(plant: Robot, event: Event) -> PreparedJump:
    """Prepare an event's jump; an error names the event."""
    assert event.jump is not None
    try:
        return event.jump.prepare(plant)
    except ModelError as error:
        raise ModelError(f"event {event.name!r}: {error}") from error


def _require_fit(plant: Robot, mode: Mode, event: Event) -> None:
    """Raise ModelError for an event with symbols that the mode does not have."""
    what, own = f"event {event.name!r}", NO_PARAMETERS
    if mode.controller is not None:
        # A parameter shared by plant and controller takes the plant's value.
        places, extra = mode.controller.parameters.beyond(plant.parameters)
        own = Parameters(tuple(mode.controller.parameters.names[i] for i in places), extra, {})
    plant.require_own_symbols(what, event.when, own)
    if ca.depends_on(event.when, ca.vertcat(plant.u, plant.coordinates.a)):
        raise ModelError(f"{what} may use time, coordinates, velocities and parameters, not inputs or accelerations")


def simulate_hybrid(
    robot: Robot,
    modes: Mapping[str, Mode],
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    start: str,
    step: float,
    integrator: Integrator | None = None,
    p: Values = None,
    t0: float = 0.0,
    tolerance: float = 1e-10,
    shortest: float | None = None,
    switches: int | None = None,
) -> PhasedTrajectory:
    """Simulate a plant that switches between modes by events.

    Events are detected at the samples, and between two of them by the cubic through an event's value and rate at both,
    which shows an expression that rises above zero and falls again within a step. This guarantees: an event whose
    expression has another sign at the next sample is never missed; one that returns within the step is found if it
    rises above zero by more than the cubic's error, about h⁴/384 times the fourth derivative of the expression along
    the motion; of three changes of sign within a step one is found. If several events happen in a step, the first in
    time is used.

    A step that crosses an event is repeated with shorter lengths until the sample is at most the tolerance after the
    instant; the integrator's error in a step adds to that. A mode's controller starts without memory.

    Where events accumulate (four successive intervals between them decrease like a geometric series, the last shorter
    than ``shortest``, or a hundred events happen within that time), the motion continues in the mode named by the
    event's ``zeno``. Without one, or if that mode has already followed there, the motion ends; ``accumulation`` is the
    time to which the events converge and ``ending`` reports it.

    Args:
        robot: the plant.
        modes: the modes by name.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: longest duration of the motion [s].
        start: name of the first mode.
        step: interval of samples, and of a fixed-step integrator [s]; shorter before an event.
        integrator: the integrator; fixed-step RK4 by default.
        p: the plant's parameters: a mapping from names that overrides nominal values, or the whole vector. A name that
            only the plants of some modes have is set in these.
        t0: time of the start [s].
        tolerance: accuracy of the time of an event [s].
        shortest: interval between events that counts as zero [s], at least ``tolerance``; 10⁴ tolerances by default.
        switches: largest number of events, after which the next one ends the motion; no limit by default.

    Returns:
        The segments, named by their modes, with the events that ended them.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        PhasedSimulationError: if a mode fails, or no state exists after a jump; the segments so far are attached.
        PhasedSimulationInterrupted: on Ctrl-C; the segments so far are attached.
    """
    _require_modes(modes, start)
    end = finite("t0", t0) + positive("duration", duration)
    samples = step_count(duration, step) + 1
    with require_memory(
        float(samples) * (robot.coordinates.nq + robot.coordinates.nv), f"{samples:,} samples", RunSettings.advice
    ):
        require_distinct_times(float(t0), float(duration), positive("step", step))
    finest = math.ulp(max(abs(float(t0)), abs(end)))
    if positive("tolerance", tolerance) < finest:
        raise ModelError(
            f"tolerance must be at least {finest:.2g} s, the distance of times in float64, got {tolerance:g}"
        )
    if shortest is not None and positive("shortest", shortest) < tolerance:
        raise ModelError(
            f"shortest must be at least tolerance = {tolerance:g} s, to which the times of events are known, got "
            f"{shortest:g}: events that accumulate would never end"
        )
    most = None if switches is None else whole("switches", switches)
    zeno = ZenoDetector(1e4 * tolerance if shortest is None else float(shortest))
    c = robot.coordinates
    t, q, v = float(t0), vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    require_near_zero(q)
    runners = {name: ModeRunner(robot, name, mode, integrator) for name, mode in modes.items()}
    require_free_contact_parameters([runner.phase for runner in runners.values()], p)
    shared = _names(runners.values(), p)
    for runner in runners.values():
        require_values(runner.phase, runner.simulator, plant_values(runner.plant, p, shared), "mode")
    record, current, previous, impact = PhaseRecord(robot, p, "mode", shared), start, None, None
    while True:
        run = _ModeRun(runners[current], t, q, end - t, step, tolerance, previous)
        segment = record.add(runners[current].phase, t, q, v, run, impact)
        t, q, v, impact, previous = float(segment.t[-1]), segment.q[-1], segment.v[-1], None, run.happened
        if previous is None:
            return record.motion("the duration is over")
        event = previous.event
        if event.to is None:
            record.events.append(event.name)
            return record.motion(f"event {event.name!r} ended the motion at t = {t:.9g} s")
        if len(record.events) == most:
            return record.motion(f"more than switches={most} events: {event.name!r} at t = {t:.9g} s")
        record.events.append(event.name)
        if event.jump is not None:
            q, v, impact = _after_jump(record, runners[current], segment, previous)
        if not end - t > 4 * np.spacing(abs(end)):
            return record.motion("the duration is over")
        before, current, limit = current, event.to, zeno.add(t)
        if limit is None:
            continue
        message = f"events accumulate at t = {limit:.9g} s, the last of them {event.name!r} in mode {before!r}"
        if event.zeno is None:
            return record.motion(f"{message}: zeno= of the event may name a mode to continue in", limit)
        if not zeno.settle(event.zeno, t):
            return record.motion(f"{message}, and again after mode {event.zeno!r} followed", limit)
        current, previous = event.zeno, None


@dataclass(eq=False)
class _ModeRun:
    """Function that runs a mode to its first event.

    Attributes:
        runner: runner of the mode.
        t: time of its start [s].
        q: coordinates at its start.
        span: longest duration [s].
        step: interval of samples [s].
        tolerance: accuracy of the time of an event [s].
        previous: event by which the mode was entered, or None.
        happened: event that ended the mode, or None.
    """

    runner: ModeRunner
    t: float
    q: Array
    span: float
    step: float
    tolerance: float
    previous: EventOccurrence | None
    happened: EventOccurrence | None = None

    def __call__(self, v: Array, p: Values, controller_p: Values) -> Trajectory:
        """Run the mode from the velocities at its start."""
        at = self.t, self.tolerance, self.previous
        run, self.happened = self.runner.run(self.q, v, self.span, self.step, p, controller_p, *at)
        return run


def _after_jump(
    record: PhaseRecord, runner: ModeRunner, segment: Trajectory, previous: EventOccurrence
) -> tuple[Array, Array, Impact | None]:
    """Return the state after an event's jump."""
    event, t = previous.event, float(segment.t[-1])
    try:
        jumped = runner.jumps[event](t, segment.q[-1], segment.v[-1], segment.p)
    except EruginError as error:
        message = f"event {event.name!r} at t = {t:.9g} s: {error}"
        raise PhasedSimulationError(message, record.motion(message), Status.FAILED) from error
    return jumped.q, jumped.v, jumped.impact


def _names(runners: Collection[ModeRunner], p: Values) -> set[str]:
    """Names of the parameters of all plants; ParameterError for a name in p that no plant and no controller has."""
    names = {name for runner in runners for name in runner.plant.parameters.names}
    laws = {name for runner in runners for name in runner.simulator.controller_parameters.names}
    for name in p if isinstance(p, Mapping) else ():
        if name not in names | laws:
            raise ParameterError(unknown_name("parameter", name, names))
    return names


def _require_modes(modes: Mapping[str, Mode], start: str) -> None:
    """Raise ModelError for modes from which no motion can be built."""
    if not isinstance(modes, Mapping) or not modes:
        raise ModelError(f"modes must be a mapping from names to modes, such as {{'flight': Mode()}}, got {modes!r}")
    for name, mode in modes.items():
        require_name("a mode", name)
        if not isinstance(mode, Mode):
            raise ModelError(f"modes must be a mapping from names to modes, got {name!r}: {mode!r}")
        for event in mode.events:
            for word, other in (("leads to", event.to), ("settles in", event.zeno)):
                if other is not None and other not in modes:
                    message = f"event {event.name!r} of mode {name!r} {word} a mode that does not exist"
                    raise ModelError(f"{message}: {unknown_name('mode', other, modes)}")
    if not isinstance(start, str):
        raise ModelError(f"start must be the name of a mode, got {start!r}")
    if start not in modes:
        raise ModelError(unknown_name("start mode", start, modes))
