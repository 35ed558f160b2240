"""Rollout of a motion in phases: each lane switches phases at its own times or on its own conditions."""

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
    """Result of a lane so far in a control period.

    Attributes:
        last: its last step, or the start of its current phase.
        reward: sum of the rewards so far.
        clearance: least clearance so far.
        why: why it cannot continue; empty if it can.
        status: status of the law and the motion.
        over: True if its last phase is over.
    """

    last: PeriodResult
    reward: float = 0.0
    clearance: float = np.inf
    why: str = ""
    status: Status = Status.OK
    over: bool = False

    def add(self, step: PeriodResult, name: str) -> None:
        """Add a step, or the start of a phase.

        Args:
            step: result of this lane alone.
            name: name of the phase.
        """
        self.last = step
        self.reward += float(step.reward[0])
        self.clearance = min(self.clearance, float(step.clearance[0]))
        if step.reasons:
            self.fail(name, step.reasons[0], Status(int(step.status[0])))

    def fail(self, name: str, why: str, status: Status = Status.FAILED) -> None:
        """Mark the lane as failed.

        Args:
            name: name of the phase.
            why: reason, a clause.
            status: status of the law or the motion.
        """
        self.why, self.status = f"phase {name!r}: {why}", status

    def result(self, end_time: float | None = None) -> PeriodResult:
        """Return the result of the whole period.

        Args:
            end_time: time at which the lane ended, if before the end of the period [s].
        """
        return PeriodResult(
            np.array([self.reward]),
            self.last.state,
            self.last.observation,
            np.array([np.inf if self.over else -np.inf]),
            np.array([self.clearance]),
            np.array([int(self.status)], dtype=np.int64),
            {0: self.why} if self.why else {},
            {} if end_time is None else {0: end_time},
        )


Array = NDArray[np.float64]
TOLERANCE = 1e-10
"""Tolerance of the time of a switch on a condition [s], as in ``simulate_phases``."""


class MultiPhaseRollout(Rollout):
    """Lanes of a motion in phases.

    Lanes in the same phase take a control period together. A lane whose phase ends within the period, on its condition
    or at its time, is put back and takes the period step by step: the step is cut where ``simulate_phases`` would cut
    it, and the rest of the step and of the period is taken in the next phase, so that control periods keep their
    length.
    """

    def __init__(self, task: EnvironmentTask, rollouts: Sequence[SinglePhaseRollout], lanes: int) -> None:
        """Prepare the conditions and ends of the phases.

        Args:
            task: task in phases.
            rollouts: rollouts of its phases, with as many lanes each.
            lanes: number of lanes.
        """
        phases = task.setup.phases
        self._task, self._rollouts = task, tuple(rollouts)
        self._nx = task.setup.robot.q.numel() + task.setup.robot.v.numel()
        self._phase = np.zeros(lanes, dtype=np.int64)
        self._count = np.zeros(lanes, dtype=np.int64)
        self._drawn = np.zeros((lanes, task.sampler.size))
        self._numbers: list[Array] = [np.zeros(0)] * lanes
        self._stands: list[ContactPositions | None] = [None] * lanes
        self._action_indices = [np.array(task.action_indices(each), dtype=np.intp) for each in task.phase_tasks]
        self._conditions = [_condition(each) for each in task.phase_tasks]
        self._ends = [np.inf if p.until is None or isinstance(p.until, ca.SX) else float(p.until) for p in phases]

    @classmethod
    def compiled(cls, task: EnvironmentTask, lanes: int, width: int, threads: int) -> MultiPhaseRollout | str:
        """Return a rollout in machine code, or a clause that says why there is none.

        Args:
            task: task in phases.
            lanes: number of lanes.
            width: lanes per vector instruction: 1, or the width of the processor.
            threads: number of threads.
        """
        rollouts: list[SinglePhaseRollout] = []
        for phase, phase_task in zip(task.setup.phases, task.phase_tasks, strict=True):
            rollout = SinglePhaseRollout.compiled(phase_task, lanes, width, threads)
            if isinstance(rollout, str):
                return f"in phase {phase.name!r}, {rollout}"
            rollouts.append(rollout)
        return cls(task, rollouts, lanes)

    @classmethod
    def single(cls, task: EnvironmentTask) -> tuple[MultiPhaseRollout, str]:
        """Return a rollout of one lane, and why steps of some phases are called from Python, empty if all are compiled.

        Args:
            task: task of the lane.
        """
        singles = [SinglePhaseRollout.single(each) for each in task.phase_tasks]
        reasons = [f"in phase {p.name!r}, {why}" for p, (_, why) in zip(task.setup.phases, singles, strict=True) if why]
        return cls(task, [rollout for rollout, _ in singles], 1), "; ".join(reasons)

    def begin(self, rows: Rows, starts: InitialConditions) -> PeriodResult:
        """Start lanes together if all start in the first phase, else lane by lane."""
        self._count[rows], self._drawn[rows] = 0, starts.numbers
        for row in rows.tolist():
            self._stands[row] = None
        if len(rows) > 1 and (result := self._begin_together(rows, starts.x)) is not None:
            return result
        parts: list[tuple[Rows, PeriodResult]] = []
        for i in range(len(rows)):
            accumulator = PeriodAccumulator(self._resting_result(starts.x[i]))
            self._enter(0, rows[i : i + 1], 0.0, accumulator)
            if accumulator.over:
                accumulator.fail(self._task.setup.phases[-1].name, "it ends before it starts")
            parts.append((np.array([i]), accumulator.result()))
        return PeriodResult.combine(parts)

    def step_period(self, rows: Rows, actions: Array) -> PeriodResult:
        """Take a control period: lanes of one phase together, lanes that switch phases one by one."""
        task, phase = self._task, self._phase[rows]
        self._count[rows] += 1
        ends = np.asarray((self._count[rows] * task.substeps) * task.h, dtype=np.float64)
        parts: list[tuple[Rows, PeriodResult]] = []
        for k, rollout in enumerate(self._rollouts):
            late = np.asarray(self._ends[k] <= ends + _time_resolution(self._ends[k]), dtype=np.bool_)
            split, regular = np.flatnonzero((phase == k) & late), np.flatnonzero((phase == k) & ~late)
            if len(regular):
                snapshot = None if self._conditions[k] is None else rollout.engine.snapshot(rows[regular])
                period = rollout.engine.step_period(rows[regular], actions[regular][:, self._action_indices[k]])
                over = period.stop > 0.0
                for index in np.flatnonzero(over).tolist():
                    rollout.engine.restore(rows[regular[index : index + 1]], snapshot, index)
                split = np.concatenate([split, regular[over]])
                if not over.all():
                    calm = np.flatnonzero(~over)
                    result = rollout.monitored(rows[regular[calm]], period.of(calm) if over.any() else period)
                    reasons = {i: f"phase {task.setup.phases[k].name!r}: {why}" for i, why in result.reasons.items()}
                    parts.append((regular[calm], replace(result, reasons=reasons)))
            for i in split.tolist():
                parts.append((np.array([i]), self._step_through(rows[i : i + 1], actions[i], float(ends[i]))))
        return PeriodResult.combine(parts)

    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot continue, in their phases."""
        for i, row in enumerate(rows.tolist()):
            self._rollouts[self._phase[row]].halt(rows[i : i + 1], states[i : i + 1])

    def close(self) -> None:
        """Stop the threads of all phases."""
        for rollout in self._rollouts:
            rollout.close()

    def _begin_together(self, rows: Rows, x: Array) -> PeriodResult | None:
        """Put lanes at the start of the first phase; return None if it is over at once or cannot start in some."""
        if not self._ends[0] > _time_resolution(self._ends[0]):
            return None
        try:
            phase_starts = [self._start(0, row, 0.0, x[i]) for i, row in enumerate(rows.tolist())]
            numbers = np.concatenate([start.numbers for start, _ in phase_starts])
            starts = InitialConditions(np.concatenate([start.x for start, _ in phase_starts]), numbers, True)
            result = self._rollouts[0].begin(rows, starts)
        except (NoVelocityError, EruginError):
            return None
        if result.reasons or (result.stop > 0.0).any():
            return None
        self._phase[rows] = 0
        for i, row in enumerate(rows.tolist()):
            self._numbers[row], self._stands[row] = numbers[i], phase_starts[i][1]
        return replace(result, stop=np.full(len(rows), -np.inf))

    def _step_through(self, row: Rows, action: Array, end: float) -> PeriodResult:
        """Take a control period of one lane across the ends of phases."""
        task, duration, accumulator = (
            self._task,
            self._task.setup.duration,
            PeriodAccumulator(self._resting_result(np.zeros(self._nx))),
        )
        last = int(self._count[row[0]]) * task.substeps
        s, on_grid, moved = last - task.substeps, True, False
        while s < last:
            k = int(self._phase[row[0]])
            engine, until, grid = self._rollouts[k].engine, self._ends[k], np.arange(s + 1, last + 1) * task.h
            n = int(np.count_nonzero(until >= grid - 4.0 * np.spacing(grid))) if on_grid else 0
            # Off the grid, or if the phase ends before the next grid point: one step up to there.
            length = None if n else min(until, float(grid[0])) - engine.time(row)
            crossed = self._take_steps_or_cross(k, row, action[self._action_indices[k]], n or 1, length, accumulator)
            if accumulator.why:
                return accumulator.result()
            now = engine.time(row)
            s += int(np.count_nonzero(now >= grid - 4.0 * np.spacing(grid)))
            on_grid = now - s * task.h <= _time_resolution(now)
            moved |= length is not None
            if crossed or until <= now + _time_resolution(now):
                if k + 1 < len(self._rollouts) and duration - now <= _time_resolution(duration):
                    break
                moved = True
                self._enter(k + 1, row, now, accumulator)
                if accumulator.why or accumulator.over:
                    return accumulator.result(now if now < end - _time_resolution(end) else None)
        if moved:
            self._rollouts[self._phase[row[0]]].engine.begin_period(row)
        return accumulator.result()

    def _take_steps_or_cross(
        self, k: int, row: Rows, action: Array, n: int, length: float | None, accumulator: PeriodAccumulator
    ) -> bool:
        """Take n steps, or one of a given length, up to where the condition of the phase holds; True if it does."""
        rollout, condition, engine = self._rollouts[k], self._conditions[k], self._rollouts[k].engine
        name = self._task.setup.phases[k].name

        def advance(partial: float | None, n: int = 1) -> PeriodSteps:
            return (
                engine.take_steps(row, action, n) if partial is None else engine.take_partial_step(row, action, partial)
            )

        snapshot, start, x = engine.snapshot(row), engine.time(row), engine.state(row)
        period = advance(length, n)
        if condition is not None and n > 1 and period.stop[0] > 0.0:
            before = engine.first_positive(row, n)
            engine.restore(row, snapshot, 0)
            if before:
                accumulator.add(rollout.monitored(row, advance(None, before)), name)
                if accumulator.why:
                    return False
                snapshot, start, x = engine.snapshot(row), engine.time(row), engine.state(row)
            period = advance(None)
        if condition is None or not period.stop[0] > 0.0:
            accumulator.add(rollout.monitored(row, period), name)
            return False
        full, at_end = engine.time(row) - start, float(period.stop[0])

        def retake(partial: float) -> PeriodSteps:
            engine.restore(row, snapshot, 0)
            return advance(length if partial == full else partial)

        below = 0.0, float(condition(start, x, self._numbers[int(row[0])])[0])
        tolerance = max(TOLERANCE, 4 * np.spacing(abs(start) + full))
        partial = first_positive(lambda a: float(retake(a).stop[0]), below, (full, at_end), tolerance)
        accumulator.add(rollout.monitored(row, retake(partial)), name)
        return True

    def _enter(self, k: int, row: Rows, t: float, accumulator: PeriodAccumulator) -> None:
        """Put a lane at the start of phase k, or of the first one after it that is not over at once."""
        phases = self._task.setup.phases
        for i in range(k, len(phases)):
            if not self._ends[i] - t > _time_resolution(self._ends[i]):
                continue
            rollout, x = self._rollouts[i], accumulator.last.state[0]
            try:
                start, self._stands[int(row[0])] = self._start(i, int(row[0]), t, x)
                phase_start = rollout.begin(row, start, t)
            except (NoVelocityError, EruginError) as error:
                accumulator.fail(phases[i].name, str(error))
                return
            self._phase[row], self._numbers[int(row[0])] = i, start.numbers[0]
            accumulator.add(phase_start, phases[i].name)
            if accumulator.why or not phase_start.stop[0] > 0.0:
                return
        accumulator.over = True

    def _start(self, k: int, row: int, t: float, x: Array) -> tuple[InitialConditions, ContactPositions]:
        """Return the start of phase k with the parameters drawn for a lane, and the positions of its contacts."""
        setup, sampler = self._task.setup, self._task.sampler
        phase, nq = setup.phases[k], setup.robot.q.numel()
        p, controller_p = sampler.phase(k, self._drawn[row])
        phase_start = start_phase(setup.robot, phase, t, x[:nq], x[nq:], p, controller_p, self._stands[row])
        plant, law = sampler.controlled_plants[k].plant.parameters, sampler.controlled_plants[k].parameters
        numbers = np.concatenate([plant.values(phase_start.p), law.values(phase_start.controller_p)])
        return InitialConditions(
            np.concatenate([x[:nq], phase_start.v])[None], numbers[None], False
        ), phase_start.contacts

    def _resting_result(self, x: Array) -> PeriodResult:
        """Return the result of a lane at rest in a state."""
        observation, zero, far = np.zeros((1, self._task.observation.numel())), np.zeros(1), np.full(1, np.inf)
        return PeriodResult(zero, x[None], observation, -far, far, np.zeros(1, dtype=np.int64), {})


def _condition(task: EnvironmentTask) -> Kernel | None:
    """Build the condition on which a phase ends, a kernel of t, (q, v) and the parameters of plant and law."""
    if task.setup.stop is None:
        return None
    c, robot = task.setup.robot.coordinates, task.setup.robot
    symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": ca.vertcat(robot.p, task.controller_p)}
    return Kernel("environment_phase_ends", symbols, {"value": task.stop}, compiled=False)


def _time_resolution(t: float) -> float:
    """Return the rounding error of a time [s]."""
    return 4.0 * float(np.spacing(abs(t))) if np.isfinite(t) else 0.0
