"""A hybrid motion: modes that follow one another by events, any number of times.

A mode is run to the first event in it; events that accumulate in a finite time (Zeno's, as the bounces of a ball) are
found by the times between them.
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
from ..initial_conditions import require_near_zero
from ..integrators.integrator import Integrator
from ..phased_trajectory import PhasedTrajectory
from ..record import RunSettings
from ..simulator import Simulator, Values
from ..trajectory import SimulationError, Trajectory
from ..zero_crossing import RepeatedStep, truncated
from .event_detection import EventCandidate, EventMonitor, EventState, first_candidate, initial_state, locate_event
from .jumps import PreparedJump
from .modes import Event, Mode
from .phase import require_free_contact_parameters
from .phase_record import PhasedSimulationError, PhaseRecord, plant_values, require_values

CROWDED_EVENTS = 100
"""Events that are too many for the shortest time."""


class ZenoDetector:
    """The times of the last events.

    Two signs: four times between events that fall as a geometric series does, the last shorter than ``shortest``; or a
    hundred events within ``shortest``, at one instant among others. Two events that only happen to come together, after
    others that came ever faster, are no series: the last quotient of times is then much smaller than those before.
    """

    def __init__(self, shortest: float) -> None:
        """No event yet.

        Args:
            shortest: time between two events that is as good as none [s].
        """
        self._shortest = shortest
        self._times: list[float] = []
        self._settled: dict[str, float] = {}

    def take(self, t: float) -> float | None:
        """Take in an event.

        Args:
            t: its time [s].

        Returns:
            The time at which events accumulate, if they do: the limit of the geometric series of the last two times
            between events, or else this one [s].
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
        """Forget the events so far, because a mode takes over; whether it may, for it has not just done so already.

        Args:
            mode: its name.
            t: time [s].
        """
        allowed = not t - self._settled.get(mode, -math.inf) < self._shortest
        self._settled[mode], self._times = t, []
        return allowed


Array = NDArray[np.float64]
FIRST = 8
"""Steps that are taken before events are looked at, while one of them is on its way back."""


@dataclass(frozen=True, eq=False)
class EventOccurrence:
    """An event that ended a stretch.

    Attributes:
        event: which one.
        rate: of its expression in the last sample.
        mode: in which it happened.
        passed: other events of the mode that have happened before and have not been back at zero since.
    """

    event: Event
    rate: float
    mode: str
    passed: tuple[Event, ...] = ()


class ModeRunner:
    """The stretches of one mode, compiled once.

    Attributes:
        mode: which one.
        name: of the mode.
        phase: the mode as a stretch.
        plant: in this mode.
        simulator: ends at the first sample at which an event's expression is positive.
        leaps: what the jumps of its events do.
    """

    def __init__(self, robot: Robot, name: str, mode: Mode, integrator: Integrator | None) -> None:
        """Compile.

        Args:
            robot: the motion's.
            name: of the mode.
            mode: which one.
            integrator: fixed-step RK4 if None.

        Raises:
            ModelError: if plant, controller and events do not fit.
        """
        self.mode, self.name, self.phase, self._integrator = mode, name, mode.phase(name), integrator
        self.leaps: dict[Event, PreparedJump] = {}
        try:
            self.plant = self.phase.plant(robot)
            for event in mode.events:
                # Each by itself, so that the message names it.
                _require_fit(self.plant, mode, event)
                if event.jump is not None:
                    self.leaps[event] = _prepared(self.plant, event)
            rising = [event.rising for event in mode.events]
            stop = functools.reduce(ca.fmax, rising) if rising else None
            self.simulator = Simulator(self.plant, mode.controller, integrator=integrator, stop=stop)
        except ModelError as error:
            raise ModelError(f"mode {name!r}: {error}") from error
        self._watch = EventMonitor(self.plant, mode.controller, mode.events)

    @functools.cached_property
    def _free(self) -> Simulator:
        """The same without a stop: goes on while an event is on its way back."""
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
        just: EventOccurrence | None,
    ) -> tuple[Trajectory, EventOccurrence | None]:
        """From the start of the mode to its first event.

        Args:
            q: coordinates at the start, shape (nq,).
            v: velocities there, shape (nv,).
            span: longest time of it [s].
            step: interval of samples [s].
            p: the plant's parameters.
            controller_p: the controller's parameters.
            t0: time of the start [s].
            tolerance: of the time of an event [s].
            just: the event by which the mode was entered, if any.

        Returns:
            The samples, and the event that ended them, or None.

        Raises:
            SimulationError: if the run fails before an event, or what an event looks at is no number.
            SimulationInterrupted: on Ctrl-C.
        """
        step = min(step, span)
        plant, own = np.split(self.simulator.values(p, controller_p), [len(self.plant.parameters)])
        now = self._watch.now(t0, q, v, plant, own)
        if not (now > 0.0).any():
            run, failure = _taken(self.simulator, q, v, span, step, p, controller_p, t0)
            found = self._first(self.simulator, run, [EventState.ARMED] * len(now), p, controller_p, tolerance, failure)
            return found or (run, None)
        steps = step_count(span, step)
        h, count = span / steps, min(FIRST, steps)
        while True:
            run, failure = _taken(self._free, q, v, count * h, h, p, controller_p, t0)
            values, rates = self._watch.along(truncated(run, 1, ""))
            stands = [self._standing(*each, just) for each in zip(self.mode.events, values[0], rates[0], strict=True)]
            if None in stands:
                k = stands.index(None)
                event, passed = self.mode.events[k], self._passed(stands)
                said = f"event {event.name!r} holds at once, at t = {t0:.9g} s"
                return truncated(run, 1, said), EventOccurrence(event, float(rates[0, k]), self.name, passed)
            states = [state for state in stands if state is not None]
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
        """The run up to the first event, if there is one; else its failure is raised, if there is one."""
        memory = simulator.memory
        values, rates = self._watch.along(run)
        unknown = np.isnan(values).any(axis=1)
        known = int(np.argmax(unknown)) if unknown.any() else len(run)

        @functools.cache
        def step_at(index: int) -> RepeatedStep:
            part, before = truncated(run, index + 2, ""), memory
            if memory is not None and index + 2 < len(run):
                # What the controller remembered there is known only to a run that ends there.
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
                said = f"at t = {run.t[known]:.9g} s: what event {name!r} looks at is no number"
                raise SimulationError(said, truncated(run, known + 1, said), Status.NOT_FINITE)
            return None
        index, length, k = best
        step, event = step_at(index), self.mode.events[k]
        cut = step.cut(length, f"event {event.name!r} at t = {step.start + length:.9g} s")
        values, rates = self._watch.along(cut)
        return cut, EventOccurrence(event, float(rates[-1, k]), self.name, self._passed(states, values))

    def _standing(self, event: Event, value: float, rate: float, just: EventOccurrence | None) -> EventState | None:
        """How an event stands where the mode begins; None if it happens at once."""
        if just is not None and just.mode == self.name and event in just.passed:
            return EventState.PASSED if value > 0.0 else EventState.ARMED
        before = just.rate if just is not None and just.event is event else None
        return initial_state(value, rate, before, jumped=event.jump is not None)

    def _passed(self, states: Sequence[EventState | None], values: Array | None = None) -> tuple[Event, ...]:
        """Events that had happened before a stretch, and have been positive along all of it."""
        each = zip(self.mode.events, states, strict=True)
        return tuple(
            event
            for k, (event, state) in enumerate(each)
            if state is EventState.PASSED and (values is None or (values[:, k] > 0.0).all())
        )

    def _length(
        self, step: RepeatedStep, k: int, suspicion: EventCandidate, values: Array, rates: Array, tolerance: float
    ) -> float | None:
        """When within a step an event happens; None if it was a false suspicion."""

        def look(length: float) -> tuple[float, float]:
            found, speeds = self._watch.along(step.take(length))
            return float(found[-1, k]), float(speeds[-1, k])

        i = suspicion.index
        ends = [(float(values[j, k]), float(rates[j, k])) for j in (i, i + 1)]
        return locate_event(look, step.length, ends[0], ends[1], suspicion, step.tolerance(tolerance))


def _taken(
    simulator: Simulator, q: Array, v: Array, span: float, step: float, p: Values, controller_p: Values, t0: float
) -> tuple[Trajectory, SimulationError | None]:
    """A run, up to its failure if it fails: an event before that is all that matters."""
    try:
        return simulator.run(q, v, span, step=step, p=p, controller_p=controller_p, t0=t0), None
    except SimulationError as error:
        return error.trajectory, error


def _prepared(plant: Robot, event: Event) -> PreparedJump:
    """What an event's jump does, with the event named if it does not fit."""
    assert event.jump is not None
    try:
        return event.jump.prepare(plant)
    except ModelError as error:
        raise ModelError(f"event {event.name!r}: {error}") from error


def _require_fit(plant: Robot, mode: Mode, event: Event) -> None:
    """Raise ModelError for an event that looks at what a mode does not have."""
    what, own = f"event {event.name!r}", NO_PARAMETERS
    if mode.controller is not None:
        # Parameters that the plant has by the same name are the plant's.
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
    """Simulate a plant that goes from mode to mode by events.

    Events are looked for in the samples, and between two of them in the cubic through an event's value and rate at
    both, which shows what rises above zero and falls again within a step. So it is promised: an event whose expression
    has another sign at the next sample is never missed; one that returns within the step is found if it rises above
    zero by more than the cubic errs, some h⁴/384 times the fourth derivative of the expression along the motion; of
    three changes of sign within a step one is found. Of several events in a step the first in time happens.

    A step that crosses an event is taken anew with shorter lengths until the sample is at most the tolerance behind the
    instant; what the integrator errs by in a step comes on top. A mode's controller starts without memory.

    Where events come together, four times between them in a row falling as a geometric series does, the last shorter
    than ``shortest``, or a hundred within that time, the motion goes on in the mode that the event's ``zeno`` names.
    Without one, or if that mode has taken over there already, it ends; ``accumulation`` is the time to which they
    converge and ``ending`` says so.

    Args:
        robot: the plant.
        modes: by name.
        q0: coordinates, shape (nq,).
        v0: velocities, shape (nv,).
        duration: longest time of the motion [s].
        start: name of the first mode.
        step: interval of samples, and of a fixed-step integrator [s]; shorter before an event.
        integrator: fixed-step RK4 if not given.
        p: the plant's parameters: nominal, overridden by name, or the whole vector. A name that only plants of some
            modes have is set in these.
        t0: time of the start [s].
        tolerance: of the time of an event [s].
        shortest: time between events that is as good as none [s]; 10⁴ tolerances if not given.
        switches: events after which the motion ends if there would be one more; no limit if not given.

    Returns:
        The segments, named by their modes, with the events that ended them.

    Raises:
        ShapeError, ModelError, ParameterError: for bad input.
        PhasedSimulationError: if a mode fails, or a jump has no answer; the segments so far are attached.
        PhasedSimulationInterrupted: on Ctrl-C; the segments so far are attached.
    """
    _require_modes(modes, start)
    end = finite("t0", t0) + positive("duration", duration)
    samples = step_count(duration, step) + 1
    with require_memory(
        float(samples) * (robot.coordinates.nq + robot.coordinates.nv), f"{samples:,} samples", RunSettings.advice
    ):
        require_distinct_times(float(t0), float(duration), positive("step", step))
    positive("tolerance", tolerance)
    most = None if switches is None else whole("switches", switches)
    crowd = ZenoDetector(1e4 * tolerance if shortest is None else positive("shortest", shortest))
    c = robot.coordinates
    t, q, v = float(t0), vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    require_near_zero(q)
    runners = {name: ModeRunner(robot, name, mode, integrator) for name, mode in modes.items()}
    require_free_contact_parameters([runner.phase for runner in runners.values()], p)
    shared = _names(runners.values(), p)
    for runner in runners.values():
        require_values(runner.phase, runner.simulator, plant_values(runner.plant, p, shared), "mode")
    record, current, just, blow = PhaseRecord(robot, p, "mode", shared), start, None, None
    while True:
        stretch = _ModeRun(runners[current], t, q, end - t, step, tolerance, just)
        segment = record.add(runners[current].phase, t, q, v, stretch, blow)
        t, q, v, blow, just = float(segment.t[-1]), segment.q[-1], segment.v[-1], None, stretch.happened
        if just is None:
            return record.motion("the duration is over")
        event = just.event
        if event.to is None:
            record.events.append(event.name)
            return record.motion(f"event {event.name!r} ended the motion at t = {t:.9g} s")
        if len(record.events) == most:
            return record.motion(f"{most} events have happened, and {event.name!r} at t = {t:.9g} s is one more")
        record.events.append(event.name)
        if event.jump is not None:
            q, v, blow = _after_jump(record, runners[current], segment, just)
        if not end - t > 4 * np.spacing(abs(end)):
            return record.motion("the duration is over")
        before, current, limit = current, event.to, crowd.take(t)
        if limit is None:
            continue
        said = f"events come together at t = {limit:.9g} s, the last of them {event.name!r} in mode {before!r}"
        if event.zeno is None:
            return record.motion(f"{said}: name the mode that follows in its zeno=", limit)
        if not crowd.settle(event.zeno, t):
            return record.motion(f"{said}, and again after mode {event.zeno!r} has taken over there", limit)
        current, just = event.zeno, None


@dataclass(eq=False)
class _ModeRun:
    """Runs a mode to its first event.

    Attributes:
        runner: of the mode.
        t: time of its start [s].
        q: coordinates there.
        span: longest time of it [s].
        step: interval of samples [s].
        tolerance: of the time of an event [s].
        just: the event by which it was entered.
        happened: the event that ended it.
    """

    runner: ModeRunner
    t: float
    q: Array
    span: float
    step: float
    tolerance: float
    just: EventOccurrence | None
    happened: EventOccurrence | None = None

    def __call__(self, v: Array, p: Values, controller_p: Values) -> Trajectory:
        """The run, from the velocities at its start."""
        at = self.t, self.tolerance, self.just
        run, self.happened = self.runner.run(self.q, v, self.span, self.step, p, controller_p, *at)
        return run


def _after_jump(
    record: PhaseRecord, runner: ModeRunner, segment: Trajectory, just: EventOccurrence
) -> tuple[Array, Array, Impact | None]:
    """The state after an event's jump."""
    event, t = just.event, float(segment.t[-1])
    try:
        jumped = runner.leaps[event](t, segment.q[-1], segment.v[-1], segment.p)
    except EruginError as error:
        said = f"event {event.name!r} at t = {t:.9g} s: {error}"
        raise PhasedSimulationError(said, record.motion(said), Status.FAILED) from error
    return jumped.q, jumped.v, jumped.impact


def _names(runners: Collection[ModeRunner], p: Values) -> set[str]:
    """The parameters of all plants; raises ParameterError for a name among p that neither they nor laws have."""
    names = {name for runner in runners for name in runner.plant.parameters.names}
    laws = {name for runner in runners for name in runner.simulator.controller_parameters.names}
    for name in p if isinstance(p, Mapping) else ():
        if name not in names | laws:
            raise ParameterError(unknown_name("parameter", name, names))
    return names


def _require_modes(modes: Mapping[str, Mode], start: str) -> None:
    """Raise ModelError for what no motion can be made of."""
    if not isinstance(modes, Mapping) or not modes:
        raise ModelError(f"a hybrid motion needs modes by name, such as {{'flight': Mode()}}, got {modes!r}")
    for name, mode in modes.items():
        require_name("a mode", name)
        if not isinstance(mode, Mode):
            raise ModelError(f"a hybrid motion is made of modes by name, got {name!r}: {mode!r}")
        for event in mode.events:
            for word, other in (("leads to", event.to), ("settles in", event.zeno)):
                if other is not None and other not in modes:
                    said = f"event {event.name!r} of mode {name!r} {word} no mode there is"
                    raise ModelError(f"{said}: {unknown_name('mode', other, modes)}")
    if not isinstance(start, str):
        raise ModelError(f"start must be the name of a mode, got {start!r}")
    if start not in modes:
        raise ModelError(unknown_name("mode to start in", start, modes))
