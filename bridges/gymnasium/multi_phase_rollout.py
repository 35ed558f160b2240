"""Rollout of a motion in phases: each lane passes from phase to phase at times or on conditions of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.status import Status
from ...simulation.hybrid.phase import ContactPositions, NoVelocityError, start_phase
from ...simulation.initial_conditions import InitialConditions
from ...simulation.zero_crossing import first_positive
from ...symbolic.errors import EruginError
from ...symbolic.kernel import Kernel
from .rollout import PeriodResult, PeriodSteps, Rollout, Rows
from .single_phase_rollout import SinglePhaseRollout
from .task import EnvironmentTask


@dataclass(eq=False)
class PeriodAccumulator:
    """What a lane has come to so far.

    Attributes:
        last: its last step, or the start of its last leg.
        paid: so far.
        clearance: least so far.
        why: why it cannot go on; empty if it can.
        status: the same in one word.
        over: whether its last phase is over.
    """

    last: PeriodResult
    paid: float = 0.0
    clearance: float = np.inf
    why: str = ""
    status: Status = Status.OK
    over: bool = False

    def take(self, step: PeriodResult, name: str) -> None:
        """Take in a step, or the start of a leg.

        Args:
            step: of this lane alone.
            name: of the phase.
        """
        self.last = step
        self.paid += float(step.paid[0])
        self.clearance = min(self.clearance, float(step.clearance[0]))
        if step.said:
            self.fail(name, step.said[0], Status(int(step.status[0])))

    def fail(self, name: str, why: str, status: Status = Status.FAILED) -> None:
        """It cannot go on.

        Args:
            name: of the phase.
            why: in words.
            status: in one word.
        """
        self.why, self.status = f"phase {name!r}: {why}", status

    def ran(self, ended: float | None = None) -> PeriodResult:
        """The period as a whole.

        Args:
            ended: when the lane came to its end, if that was before the end of the period [s].
        """
        return PeriodResult(
            np.array([self.paid]),
            self.last.state,
            self.last.seen,
            np.array([np.inf if self.over else -np.inf]),
            np.array([self.clearance]),
            np.array([int(self.status)], dtype=np.int64),
            {0: self.why} if self.why else {},
            {} if ended is None else {0: ended},
        )


Array = NDArray[np.float64]
TOLERANCE = 1e-10
"""Of the time of a switch on a condition [s], as in ``simulate_phases``."""


class MultiPhaseRollout(Rollout):
    """Lanes of a motion in phases.

    Lanes of one phase take a control period together. One whose condition has come to hold on the way, or whose phase
    ends by the clock, is put back, takes the period step by step, and is cut where ``simulate_phases`` would cut it;
    what is left of the step, and of the period, it takes in the next phase: control periods stay as long as they are.
    """

    def __init__(self, task: EnvironmentTask, legs: Sequence[SinglePhaseRollout], lanes: int) -> None:
        """Nothing has begun.

        Args:
            task: in phases.
            legs: the courses of its legs, of as many lanes.
            lanes: how many.
        """
        phases = task.setup.phases
        self._task, self._legs = task, tuple(legs)
        self._nx = task.setup.robot.q.numel() + task.setup.robot.v.numel()
        self._now = np.zeros(lanes, dtype=np.int64)
        self._count = np.zeros(lanes, dtype=np.int64)
        self._drawn = np.zeros((lanes, task.draws.size))
        self._own: list[Array] = [np.zeros(0)] * lanes
        self._stands: list[ContactPositions | None] = [None] * lanes
        self._places = [np.array(task.places(leg), dtype=np.intp) for leg in task.legs]
        self._conditions = [_condition(leg) for leg in task.legs]
        self._ends = [np.inf if p.until is None or isinstance(p.until, ca.SX) else float(p.until) for p in phases]

    @classmethod
    def compiled(cls, task: EnvironmentTask, lanes: int, width: int, threads: int) -> MultiPhaseRollout | str:
        """In machine code; or why that cannot be, as a clause.

        Args:
            task: in phases.
            lanes: how many.
            width: lanes of a vector: 1, or as many as the processor has.
            threads: that may be used.
        """
        legs: list[SinglePhaseRollout] = []
        for phase, one in zip(task.setup.phases, task.legs, strict=True):
            leg = SinglePhaseRollout.compiled(one, lanes, width, threads)
            if isinstance(leg, str):
                return f"in phase {phase.name!r}, {leg}"
            legs.append(leg)
        return cls(task, legs, lanes)

    @classmethod
    def single(cls, task: EnvironmentTask) -> tuple[MultiPhaseRollout, str]:
        """One lane; and why steps of some phases are called from Python, empty if all are compiled.

        Args:
            task: of the lane.
        """
        found = [SinglePhaseRollout.single(leg) for leg in task.legs]
        reasons = [f"in phase {p.name!r}, {why}" for p, (_, why) in zip(task.setup.phases, found, strict=True) if why]
        return cls(task, [leg for leg, _ in found], 1), "; ".join(reasons)

    def begin(self, rows: Rows, starts: InitialConditions) -> PeriodResult:
        """Together, if all begin with the first phase; else lane by lane."""
        self._count[rows], self._drawn[rows] = 0, starts.numbers
        for row in rows.tolist():
            self._stands[row] = None
        if len(rows) > 1 and (ran := self._together(rows, starts.x)) is not None:
            return ran
        parts: list[tuple[Rows, PeriodResult]] = []
        for i in range(len(rows)):
            way = PeriodAccumulator(self._nothing(starts.x[i]))
            self._enter(0, rows[i : i + 1], 0.0, way)
            if way.over:
                way.fail(self._task.setup.phases[-1].name, "its end has come before the start")
            parts.append((np.array([i]), way.ran()))
        return PeriodResult.together(parts)

    def go(self, rows: Rows, actions: Array) -> PeriodResult:
        """Leg by leg, and lane by lane where one gives way to the next."""
        task, now = self._task, self._now[rows]
        self._count[rows] += 1
        ends = np.asarray((self._count[rows] * task.substeps) * task.h, dtype=np.float64)
        parts: list[tuple[Rows, PeriodResult]] = []
        for k, leg in enumerate(self._legs):
            late = np.asarray(self._ends[k] <= ends + _time_resolution(self._ends[k]), dtype=np.bool_)
            split, here = np.flatnonzero((now == k) & late), np.flatnonzero((now == k) & ~late)
            if len(here):
                kept = None if self._conditions[k] is None else leg.engine.keep(rows[here])
                period = leg.engine.go(rows[here], actions[here][:, self._places[k]])
                over = period.stop > 0.0
                for place in np.flatnonzero(over).tolist():
                    leg.engine.restore(rows[here[place : place + 1]], kept, place)
                split = np.concatenate([split, here[over]])
                if not over.all():
                    calm = np.flatnonzero(~over)
                    ran = leg.judged(rows[here[calm]], period.of(calm) if over.any() else period)
                    said = {i: f"phase {task.setup.phases[k].name!r}: {why}" for i, why in ran.said.items()}
                    parts.append((here[calm], replace(ran, said=said)))
            for i in split.tolist():
                parts.append((np.array([i]), self._through(rows[i : i + 1], actions[i], float(ends[i]))))
        return PeriodResult.together(parts)

    def halt(self, rows: Rows, states: Array) -> None:
        """In the legs where they are."""
        for i, row in enumerate(rows.tolist()):
            self._legs[self._now[row]].halt(rows[i : i + 1], states[i : i + 1])

    def close(self) -> None:
        """End what runs beside the legs."""
        for leg in self._legs:
            leg.close()

    def _together(self, rows: Rows, x: Array) -> PeriodResult | None:
        """Lanes at the start of the first phase; None if it is over at once in some, or cannot begin."""
        if not self._ends[0] > _time_resolution(self._ends[0]):
            return None
        try:
            begun = [self._start(0, row, 0.0, x[i]) for i, row in enumerate(rows.tolist())]
            numbers = np.concatenate([start.numbers for start, _ in begun])
            starts = InitialConditions(np.concatenate([start.x for start, _ in begun]), numbers, True)
            ran = self._legs[0].begin(rows, starts)
        except (NoVelocityError, EruginError):
            return None
        if ran.said or (ran.stop > 0.0).any():
            return None
        self._now[rows] = 0
        for i, row in enumerate(rows.tolist()):
            self._own[row], self._stands[row] = numbers[i], begun[i][1]
        return replace(ran, stop=np.full(len(rows), -np.inf))

    def _through(self, row: Rows, action: Array, end: float) -> PeriodResult:
        """A control period of one lane, over the ends of phases."""
        task, duration, way = (
            self._task,
            self._task.setup.duration,
            PeriodAccumulator(self._nothing(np.zeros(self._nx))),
        )
        last = int(self._count[row[0]]) * task.substeps
        s, on_grid, moved = last - task.substeps, True, False
        while s < last:
            k = int(self._now[row[0]])
            engine, until, grid = self._legs[k].engine, self._ends[k], np.arange(s + 1, last + 1) * task.h
            n = int(np.count_nonzero(until >= grid - 4.0 * np.spacing(grid))) if on_grid else 0
            # Off the grid, or with the end of the phase before it, one step that ends there.
            length = None if n else min(until, float(grid[0])) - engine.time(row)
            crossed = self._take(k, row, action[self._places[k]], n or 1, length, way)
            if way.why:
                return way.ran()
            here = engine.time(row)
            s += int(np.count_nonzero(here >= grid - 4.0 * np.spacing(grid)))
            on_grid = here - s * task.h <= _time_resolution(here)
            moved |= length is not None
            if crossed or until <= here + _time_resolution(here):
                if k + 1 < len(self._legs) and duration - here <= _time_resolution(duration):
                    break
                moved = True
                self._enter(k + 1, row, here, way)
                if way.why or way.over:
                    return way.ran(here if here < end - _time_resolution(end) else None)
        if moved:
            self._legs[self._now[row[0]]].engine.begin_period(row)
        return way.ran()

    def _take(self, k: int, row: Rows, action: Array, n: int, length: float | None, way: PeriodAccumulator) -> bool:
        """Some steps, or one of a length of its own, up to where the condition of the phase holds; whether it does."""
        leg, condition, engine = self._legs[k], self._conditions[k], self._legs[k].engine
        name = self._task.setup.phases[k].name

        def taken(part: float | None, n: int = 1) -> PeriodSteps:
            return engine.steps(row, action, n) if part is None else engine.part(row, action, part)

        kept, start, x = engine.keep(row), engine.time(row), engine.state(row)
        period = taken(length, n)
        if condition is not None and n > 1 and period.stop[0] > 0.0:
            before = engine.first_positive(row, n)
            engine.restore(row, kept, 0)
            if before:
                way.take(leg.judged(row, taken(None, before)), name)
                if way.why:
                    return False
                kept, start, x = engine.keep(row), engine.time(row), engine.state(row)
            period = taken(None)
        if condition is None or not period.stop[0] > 0.0:
            way.take(leg.judged(row, period), name)
            return False
        full, at_end = engine.time(row) - start, float(period.stop[0])

        def again(part: float) -> PeriodSteps:
            engine.restore(row, kept, 0)
            return taken(length if part == full else part)

        below = 0.0, float(condition(start, x, self._own[int(row[0])])[0])
        tolerance = max(TOLERANCE, 4 * np.spacing(abs(start) + full))
        part = first_positive(lambda a: float(again(a).stop[0]), below, (full, at_end), tolerance)
        way.take(leg.judged(row, again(part)), name)
        return True

    def _enter(self, k: int, row: Rows, t: float, way: PeriodAccumulator) -> None:
        """Put a lane at the start of a phase, or of the first one after it that is not over at once."""
        phases = self._task.setup.phases
        for i in range(k, len(phases)):
            if not self._ends[i] - t > _time_resolution(self._ends[i]):
                continue
            leg, x = self._legs[i], way.last.state[0]
            try:
                start, self._stands[int(row[0])] = self._start(i, int(row[0]), t, x)
                begun = leg.begin(row, start, t)
            except (NoVelocityError, EruginError) as error:
                way.fail(phases[i].name, str(error))
                return
            self._now[row], self._own[int(row[0])] = i, start.numbers[0]
            way.take(begun, phases[i].name)
            if way.why or not begun.stop[0] > 0.0:
                return
        way.over = True

    def _start(self, k: int, row: int, t: float, x: Array) -> tuple[InitialConditions, ContactPositions]:
        """Of a phase, with the parameters that were drawn for a lane."""
        setup, draws = self._task.setup, self._task.draws
        phase, nq = setup.phases[k], setup.robot.q.numel()
        p, controller_p = draws.phase(k, self._drawn[row])
        begun = start_phase(setup.robot, phase, t, x[:nq], x[nq:], p, controller_p, self._stands[row])
        plant, law = draws.driven[k].plant.parameters, draws.driven[k].parameters
        numbers = np.concatenate([plant.values(begun.p), law.values(begun.controller_p)])
        return InitialConditions(np.concatenate([x[:nq], begun.v])[None], numbers[None], False), begun.contacts

    def _nothing(self, x: Array) -> PeriodResult:
        """Of a lane that stands still at a state."""
        seen, zero, far = np.zeros((1, self._task.seen.numel())), np.zeros(1), np.full(1, np.inf)
        return PeriodResult(zero, x[None], seen, -far, far, np.zeros(1, dtype=np.int64), {})


def _condition(leg: EnvironmentTask) -> Kernel | None:
    """Value of the condition on which a phase ends, at t, (q, v) and the parameters of plant and law."""
    if leg.setup.stop is None:
        return None
    c, robot = leg.setup.robot.coordinates, leg.setup.robot
    symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": ca.vertcat(robot.p, leg.controller_p)}
    return Kernel("environment_phase_ends", symbols, {"value": leg.stop}, compiled=False)


def _time_resolution(t: float) -> float:
    """Rounding of a time."""
    return 4.0 * float(np.spacing(abs(t))) if np.isfinite(t) else 0.0
