"""One stretch of a hybrid motion: from the start of a mode to the first event in it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.arrays import step_count
from ..symbolic.errors import ModelError
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from .crossing import LastStep, shortened
from .events import Event
from .events_watch import State, Suspicion, Watch, first_suspicion, standing_at
from .hybrid_jumps import Leap
from .hybrid_locate import locate
from .hybrid_mode import Mode
from .integrators import Integrator
from .simulation_errors import SimulationError
from .simulator import Simulator, Values
from .trajectory import Trajectory

Array = NDArray[np.float64]
FIRST = 8
"""Steps that are taken before events are looked at, while one of them is on its way back."""


@dataclass(frozen=True, eq=False)
class Happened:
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
        self.leaps: dict[Event, Leap] = {}
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
        self._watch = Watch(self.plant, mode.controller, mode.events)

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
        law_p: Values,
        t0: float,
        tolerance: float,
        just: Happened | None,
    ) -> tuple[Trajectory, Happened | None]:
        """From the start of the mode to its first event.

        Args:
            q: coordinates at the start, shape (nq,).
            v: velocities there, shape (nv,).
            span: longest time of it [s].
            step: interval of samples [s].
            p: the plant's parameters.
            law_p: the controller's parameters.
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
        plant, own = np.split(self.simulator.values(p, law_p), [len(self.plant.parameters)])
        now = self._watch.now(t0, q, v, plant, own)
        if not (now > 0.0).any():
            run, failure = _taken(self.simulator, q, v, span, step, p, law_p, t0)
            found = self._first(self.simulator, run, [State.ARMED] * len(now), p, law_p, tolerance, failure)
            return found or (run, None)
        steps = step_count(span, step)
        h, count = span / steps, min(FIRST, steps)
        while True:
            run, failure = _taken(self._free, q, v, count * h, h, p, law_p, t0)
            values, rates = self._watch.along(shortened(run, 1, ""))
            stands = [self._standing(*each, just) for each in zip(self.mode.events, values[0], rates[0], strict=True)]
            if None in stands:
                k = stands.index(None)
                event, passed = self.mode.events[k], self._passed(stands)
                said = f"event {event.name!r} holds at once, at t = {t0:.9g} s"
                return shortened(run, 1, said), Happened(event, float(rates[0, k]), self.name, passed)
            states = [state for state in stands if state is not None]
            found = self._first(self._free, run, states, p, law_p, tolerance, failure)
            if found is not None:
                return found
            if count == steps:
                return run, None
            count = min(2 * count, steps)

    def _first(
        self,
        simulator: Simulator,
        run: Trajectory,
        states: list[State],
        p: Values,
        law_p: Values,
        tolerance: float,
        failure: SimulationError | None,
    ) -> tuple[Trajectory, Happened] | None:
        """The run up to the first event, if there is one; else its failure is raised, if there is one."""
        memory = simulator.memory
        values, rates = self._watch.along(run)
        unknown = np.isnan(values).any(axis=1)
        known = int(np.argmax(unknown)) if unknown.any() else len(run)

        @functools.cache
        def step_at(index: int) -> LastStep:
            part, before = shortened(run, index + 2, ""), memory
            if memory is not None and index + 2 < len(run):
                # What the controller remembered there is known only to a run that ends there.
                h = float(run.t[1] - run.t[0])
                part = simulator.run(run.q[0], run.v[0], (index + 1) * h, step=h, p=p, law_p=law_p, t0=float(run.t[0]))
                before = simulator.memory
            return LastStep(simulator, part, p, law_p, before)

        best: tuple[int, float, int] | None = None
        for k, state in enumerate(states):
            begin = 0
            while True:
                times = run.t[:known]
                suspicion = first_suspicion(times, values[:known, k], rates[:known, k], state, begin)
                if suspicion is None or (best is not None and suspicion.index > best[0]):
                    break
                length = self._length(step_at(suspicion.index), k, suspicion, values, rates, tolerance)
                if length is not None:
                    best = min(best or (len(run), math.inf, 0), (suspicion.index, length, k))
                    break
                begin = suspicion.index + 1
                state = suspicion.state if values[begin, k] > 0.0 else State.ARMED
        if best is None:
            if failure is not None:
                raise failure
            if known < len(run):
                name = self.mode.events[int(np.argmax(np.isnan(values[known])))].name
                said = f"at t = {run.t[known]:.9g} s: what event {name!r} looks at is no number"
                raise SimulationError(said, shortened(run, known + 1, said), Status.NOT_FINITE)
            return None
        index, length, k = best
        step, event = step_at(index), self.mode.events[k]
        cut = step.cut(length, f"event {event.name!r} at t = {step.start + length:.9g} s")
        values, rates = self._watch.along(cut)
        return cut, Happened(event, float(rates[-1, k]), self.name, self._passed(states, values))

    def _standing(self, event: Event, value: float, rate: float, just: Happened | None) -> State | None:
        """How an event stands where the mode begins; None if it happens at once."""
        if just is not None and just.mode == self.name and event in just.passed:
            return State.PASSED if value > 0.0 else State.ARMED
        before = just.rate if just is not None and just.event is event else None
        return standing_at(value, rate, before, jumped=event.jump is not None)

    def _passed(self, states: Sequence[State | None], values: Array | None = None) -> tuple[Event, ...]:
        """Events that had happened before a stretch, and have been positive along all of it."""
        each = zip(self.mode.events, states, strict=True)
        return tuple(
            event
            for k, (event, state) in enumerate(each)
            if state is State.PASSED and (values is None or (values[:, k] > 0.0).all())
        )

    def _length(
        self, step: LastStep, k: int, suspicion: Suspicion, values: Array, rates: Array, tolerance: float
    ) -> float | None:
        """When within a step an event happens; None if it was a false suspicion."""

        def look(length: float) -> tuple[float, float]:
            found, speeds = self._watch.along(step.take(length))
            return float(found[-1, k]), float(speeds[-1, k])

        i = suspicion.index
        ends = [(float(values[j, k]), float(rates[j, k])) for j in (i, i + 1)]
        return locate(look, step.length, ends[0], ends[1], suspicion, step.tolerance(tolerance))


def _taken(
    simulator: Simulator, q: Array, v: Array, span: float, step: float, p: Values, law_p: Values, t0: float
) -> tuple[Trajectory, SimulationError | None]:
    """A run, up to its failure if it fails: an event before that is all that matters."""
    try:
        return simulator.run(q, v, span, step=step, p=p, law_p=law_p, t0=t0), None
    except SimulationError as error:
        return error.trajectory, error


def _prepared(plant: Robot, event: Event) -> Leap:
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
