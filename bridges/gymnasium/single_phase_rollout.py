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
from .rollout import PeriodResult, PeriodSteps, Rollout, Rows, Stepper, checks_natural_rows
from .task import EnvironmentTask

Array = NDArray[np.float64]


class SinglePhaseRollout(Rollout):
    """The course of a task with one law or none, and a part of that of one in phases.

    Attributes:
        engine: takes the steps.
    """

    def __init__(self, task: EnvironmentTask, engine: Stepper, lanes: int) -> None:
        """Nothing has begun.

        Args:
            task: what the lanes share.
            engine: takes the steps.
            lanes: how many.
        """
        robot, dependent = task.setup.robot, task.integrator.passes_dependent_rows
        self.engine = engine
        tolerance = 0.0 if task.base is None else task.base.tolerance
        rank = NaturalRank(robot, task.h, lanes) if checks_natural_rows(task) else None
        self._judge = EpisodeMonitor(lanes, engine.rows, tolerance, rank, bounds(robot))
        self._natural = NaturalCheck(robot, dependent=dependent) if robot.natural else None
        self._split, self._h = len(robot.parameters), task.h
        # What is held over a period decays otherwise.
        linear = () if task.base is None or task.hold else task.base.linearizations
        self._limit = StepLimit(linear, task.controller_parameters, task.integrator) if linear else None

    @classmethod
    def compiled(cls, task: EnvironmentTask, lanes: int, width: int, threads: int) -> SinglePhaseRollout | str:
        """In machine code; or why that cannot be, as a clause.

        Args:
            task: what the lanes share.
            lanes: how many.
            width: lanes of a vector: 1, or as many as the processor has.
            threads: that may be used.
        """
        engine = CompiledLanes.of(task, lanes, width, threads)
        return engine if isinstance(engine, str) else cls(task, engine, lanes)

    @classmethod
    def single(cls, task: EnvironmentTask) -> tuple[SinglePhaseRollout, str]:
        """One lane; and why its steps are called from Python, empty if they are compiled.

        Args:
            task: of the lane.
        """
        leg = cls.compiled(task, 1, 1, 1)
        return (cls(task, InterpretedLane(task), 1), leg) if isinstance(leg, str) else (leg, "")

    def begin(self, rows: Rows, starts: InitialConditions, t0: float = 0.0) -> PeriodResult:
        """As in any course; ``t0`` is the time there [s]."""
        if self._limit is not None:
            self._limit.check(starts.numbers[:, self._split :], self._h, batch=len(rows) > 1)
        if self._natural is not None:
            self._natural.check(starts.x, starts.numbers[:, : self._split], t0, batch=len(rows) > 1)
        self._judge.begin(rows)
        period = self.engine.begin(rows, starts, t0)
        ran = self.judged(rows, period)
        self._judge.begin(rows)
        return ran

    def go(self, rows: Rows, actions: Array) -> PeriodResult:
        """A control period."""
        return self.judged(rows, self.engine.go(rows, actions))

    def judged(self, rows: Rows, period: PeriodSteps) -> PeriodResult:
        """What steps have come to.

        Args:
            rows: which lanes took them, ascending, shape (k,).
            period: of the engine.
        """
        status, said = self._judge.look(rows, period.told, period.state)
        if (error := period.error) is not None:
            status[0] = next((s for kind, s in FAILURES.items() if isinstance(error, kind)), Status.FAILED)
            said[0] = str(error) or type(error).__name__
        return PeriodResult(period.paid, period.state, period.seen, period.stop, period.clearance, status, said)

    def halt(self, rows: Rows, states: Array) -> None:
        """The engine's."""
        self.engine.halt(rows, states)

    def close(self) -> None:
        """The engine's."""
        self.engine.close()
