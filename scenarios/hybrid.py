"""A motion in modes: which follows which is decided by events, any number of times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers.status import Status
from ..robots.impact import Impact
from ..robots.robot import Robot
from ..symbolic.arrays import finite, positive, require_distinct_times, room_for, step_count, vector, whole
from ..symbolic.errors import EruginError, ModelError, ParameterError, require_name, unknown_name
from .hybrid_accumulation import Accumulation
from .hybrid_mode import Mode
from .hybrid_run import Happened, ModeRunner
from .integrators import Integrator
from .phase_record import PhasedSimulationError, PhaseRecord, own_values, require_values
from .phased_trajectory import PhasedTrajectory
from .record import Run
from .simulator import Values
from .stands import require_names
from .starts import require_near_zero
from .trajectory import Trajectory

Array = NDArray[np.float64]


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
    than ``shortest``, or a hundred within that time, the motion goes on in the mode that the event's ``settles`` names.
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
    with room_for(float(samples) * (robot.coordinates.nq + robot.coordinates.nv), f"{samples:,} samples", Run.advice):
        require_distinct_times(float(t0), float(duration), positive("step", step))
    positive("tolerance", tolerance)
    most = None if switches is None else whole("switches", switches)
    crowd = Accumulation(1e4 * tolerance if shortest is None else positive("shortest", shortest))
    c = robot.coordinates
    t, q, v = float(t0), vector("q0", q0, c.nq), vector("v0", v0, c.nv)
    require_near_zero("q0", q)
    require_near_zero("v0", v)
    runners = {name: ModeRunner(robot, name, mode, integrator) for name, mode in modes.items()}
    require_names([runner.phase for runner in runners.values()], p)
    shared = _names(runners.values(), p)
    for runner in runners.values():
        require_values(runner.phase, runner.simulator, own_values(runner.plant, p, shared), "mode")
    record, current, just, blow = PhaseRecord(robot, p, "mode", shared), start, None, None
    while True:
        stretch = _Stretch(runners[current], t, q, end - t, step, tolerance, just)
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
            q, v, blow = _jumped(record, runners[current], segment, just)
        if not end - t > 4 * np.spacing(abs(end)):
            return record.motion("the duration is over")
        before, current, limit = current, event.to, crowd.take(t)
        if limit is None:
            continue
        said = f"events come together at t = {limit:.9g} s, the last of them {event.name!r} in mode {before!r}"
        if event.settles is None:
            return record.motion(f"{said}: name the mode that follows in its settles=", limit)
        if not crowd.settle(event.settles, t):
            return record.motion(f"{said}, and again after mode {event.settles!r} has taken over there", limit)
        current, just = event.settles, None


@dataclass(eq=False)
class _Stretch:
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
    just: Happened | None
    happened: Happened | None = None

    def __call__(self, v: Array, p: Values, law_p: Values) -> Trajectory:
        """The run, from the velocities at its start."""
        at = self.t, self.tolerance, self.just
        run, self.happened = self.runner.run(self.q, v, self.span, self.step, p, law_p, *at)
        return run


def _jumped(
    record: PhaseRecord, runner: ModeRunner, segment: Trajectory, just: Happened
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
    laws = {name for runner in runners for name in runner.simulator.law_parameters.names}
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
            for word, other in (("leads to", event.to), ("settles in", event.settles)):
                if other is not None and other not in modes:
                    said = f"event {event.name!r} of mode {name!r} {word} no mode there is"
                    raise ModelError(f"{said}: {unknown_name('mode', other, modes)}")
    if not isinstance(start, str):
        raise ModelError(f"start must be the name of a mode, got {start!r}")
    if start not in modes:
        raise ModelError(unknown_name("mode to start in", start, modes))
