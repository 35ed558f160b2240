"""Rollout of lanes under one controller: the stepper and the monitor of its termination."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...controllers.status import Status
from ...simulation.divergence import bounds
from ...simulation.initial_conditions import InitialConditions
from ...simulation.natural_rank import NaturalRank
from ...simulation.record import FAILURES
from ...simulation.start_checks import NaturalCheck, StepLimit
from .compiled_lanes import CompiledLanes
from .episode_termination import EpisodeMonitor
from .interpreted_lane import InterpretedLane
from .rollout import PeriodResult, PeriodSteps, Rollout, Rows, Stepper
from .task import EnvironmentTask

Array = NDArray[np.float64]


class SinglePhaseRollout(Rollout):
    """Rollout of a task with one law or none, or of one phase of a task in phases.

    Attributes:
        engine: stepper of the lanes.
    """

    def __init__(self, task: EnvironmentTask, engine: Stepper, lanes: int) -> None:
        """Build the monitor and the checks of starts.

        Args:
            task: task of the lanes.
            engine: stepper of the lanes.
            lanes: number of lanes.
        """
        robot, dependent = task.setup.robot, task.integrator.passes_dependent_rows
        self.engine = engine
        tolerance = 0.0 if task.base is None else task.base.tolerance
        rank = NaturalRank(robot, task.h, lanes) if task.monitors_natural_rows else None
        self._monitor = EpisodeMonitor(lanes, engine.rows, tolerance, rank, bounds(robot))
        self._natural = NaturalCheck(robot, dependent=dependent) if robot.natural else None
        self._split, self._h = len(robot.parameters), task.h
        # The step limit of linear laws does not apply to an output that is held over a period.
        linear = () if task.base is None or task.hold else task.base.linearizations
        self._step_limit = StepLimit(linear, task.controller_parameters, task.integrator) if linear else None

    @classmethod
    def compiled(cls, task: EnvironmentTask, lanes: int, width: int, threads: int) -> SinglePhaseRollout | str:
        """Return a rollout in machine code, or a clause that says why there is none.

        Args:
            task: task of the lanes.
            lanes: number of lanes.
            width: lanes per vector instruction: 1, or the width of the processor.
            threads: number of threads.
        """
        engine = CompiledLanes.of(task, lanes, width, threads)
        return engine if isinstance(engine, str) else cls(task, engine, lanes)

    @classmethod
    def single(cls, task: EnvironmentTask) -> tuple[SinglePhaseRollout, str]:
        """Return a rollout of one lane, and why its steps are called from Python, empty if they are compiled.

        Args:
            task: task of the lane.
        """
        rollout = cls.compiled(task, 1, 1, 1)
        return (cls(task, InterpretedLane(task), 1), rollout) if isinstance(rollout, str) else (rollout, "")

    def begin(self, rows: Rows, starts: InitialConditions, t0: float = 0.0) -> PeriodResult:
        """Put some lanes at the starts of new episodes, at time ``t0`` [s]."""
        if self._step_limit is not None:
            self._step_limit.check(starts.numbers[:, self._split :], self._h, batch=len(rows) > 1)
        if self._natural is not None:
            self._natural.check(starts.x, starts.numbers[:, : self._split], t0, batch=len(rows) > 1)
        self._monitor.begin(rows)
        period = self.engine.begin(rows, starts, t0)
        result = self.monitored(rows, period)
        self._monitor.begin(rows)
        return result

    def step_period(self, rows: Rows, actions: Array) -> PeriodResult:
        """Take a control period."""
        return self.monitored(rows, self.engine.step_period(rows, actions))

    def monitored(self, rows: Rows, period: PeriodSteps) -> PeriodResult:
        """Return the result of steps, checked by the monitor.

        Args:
            rows: indices of the lanes that took them, ascending, shape (k,).
            period: steps of the engine.
        """
        status, reasons = self._monitor.check(rows, period.signals, period.state)
        if (error := period.error) is not None:
            status[0] = next((s for kind, s in FAILURES.items() if isinstance(error, kind)), Status.FAILED)
            reasons[0] = str(error) or type(error).__name__
        return PeriodResult(
            period.reward, period.state, period.observation, period.stop, period.clearance, status, reasons
        )

    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot continue."""
        self.engine.halt(rows, states)

    def close(self) -> None:
        """Stop the threads of the engine."""
        self.engine.close()
