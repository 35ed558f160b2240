"""Abstract stepper and rollout: what advances the lanes of a task through their control periods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simulation.initial_conditions import InitialConditions
from .episode_termination import StepSignals
from .task import EnvironmentTask

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PeriodSteps:
    """What a control period has brought, one row per lane that took it.

    Attributes:
        told: of its steps, at their starts.
        paid: sum of the reward's rate over the steps times h, shape (k,); zero for a reward that is a function.
        state: (q, v) at its end, shape (k, nx).
        seen: the observation at its end, shape (k, n).
        stop: largest value of the stop condition at the ends of its steps, shape (k,); −inf without one.
        clearance: least clearance at the ends of its steps, shape (k,); inf without one.
        error: what a controller called from Python raised, or None.
    """

    told: StepSignals
    paid: Array
    state: Array
    seen: Array
    stop: Array
    clearance: Array
    error: BaseException | None = None

    def of(self, places: Rows) -> PeriodSteps:
        """The same of some of the lanes.

        Args:
            places: among the k.
        """
        told = {each.name: getattr(self.told, each.name)[places] for each in fields(StepSignals)}
        arrays = {name: getattr(self, name)[places] for name in ("paid", "state", "seen", "stop", "clearance")}
        return PeriodSteps(StepSignals(**told), **arrays, error=self.error)


class Stepper(ABC):
    """Lanes of one task, each at its own time in its own episode.

    Attributes:
        task: whose lanes they are.
        rows: names of the law's rows that are judged.
    """

    task: EnvironmentTask
    rows: tuple[str, ...]

    @abstractmethod
    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
        """Put some lanes at the starts of new runs.

        Args:
            rows: which, shape (k,).
            starts: one row for each of them.
            t0: time there [s].

        Returns:
            What is seen there, in place of the end of a period.
        """

    @abstractmethod
    def go(self, rows: Rows, actions: Array) -> PeriodSteps:
        """Take a control period.

        Args:
            rows: which lanes, shape (k,).
            actions: in the units of the inputs, shape (k, n).
        """

    @abstractmethod
    def steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """Take some of the steps of a control period.

        Args:
            row: which lane, shape (1,).
            action: in the units of the inputs, shape (n,).
            n: how many, at most as many as a period has.
        """

    @abstractmethod
    def part(self, row: Rows, action: Array, length: float) -> PeriodSteps:
        """Take one step of another length; steps that follow go on from there.

        Args:
            row: which lane, shape (1,).
            action: in the units of the inputs, shape (n,).
            length: [s].
        """

    @abstractmethod
    def first_positive(self, row: Rows, n: int) -> int:
        """Of the steps that were just taken, the number of those before the first that ended with a positive stop.

        Args:
            row: which lane, shape (1,).
            n: how many were taken.
        """

    @abstractmethod
    def begin_period(self, row: Rows) -> None:
        """The next step is the first of a control period, whatever came before.

        Args:
            row: which lane, shape (1,).
        """

    @abstractmethod
    def keep(self, rows: Rows) -> object:
        """What :meth:`restore` takes, of some lanes.

        Args:
            rows: which, shape (k,).
        """

    @abstractmethod
    def restore(self, row: Rows, kept: Any, place: int) -> None:  # noqa: ANN401 - each engine keeps its own
        """Put a lane where it was.

        Args:
            row: which lane, shape (1,).
            kept: of it and others.
            place: of the lane among these.
        """

    @abstractmethod
    def time(self, row: Rows) -> float:
        """Of the last sample of a lane [s].

        Args:
            row: which lane, shape (1,).
        """

    @abstractmethod
    def state(self, row: Rows) -> Array:
        """(q, v) at the last sample of a lane, shape (nx,).

        Args:
            row: which lane, shape (1,).
        """

    @abstractmethod
    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot go on.

        Args:
            rows: which lanes, shape (k,).
            states: (q, v), shape (k, nx).
        """

    def close(self) -> None:  # noqa: B027 - an engine without threads has none to end
        """End what runs beside it."""


def checks_natural_rows(task: EnvironmentTask) -> bool:
    """Whether natural rows are judged: not where an integrator passes dependent ones.

    Args:
        task: with the robot and the integrator.
    """
    return bool(task.setup.robot.natural) and not task.integrator.passes_dependent_rows


@dataclass(frozen=True, eq=False)
class PeriodResult:
    """What a control period has come to, one row per lane that took it.

    Attributes:
        paid: sum of the reward's rate over the steps times their lengths, shape (k,).
        state: (q, v) at its end, shape (k, nx).
        seen: the observation at its end, shape (k, n).
        stop: positive if the motion has come to its end, shape (k,).
        clearance: least clearance at the ends of its steps, shape (k,); inf without one.
        status: of the law and the motion, shape (k,).
        said: why a lane cannot go on, by place among the k.
        ended: time at which a lane came to its end before that of the period, by place among the k [s].
    """

    paid: Array
    state: Array
    seen: Array
    stop: Array
    clearance: Array
    status: NDArray[np.int64]
    said: Mapping[int, str]
    ended: Mapping[int, float] = field(default_factory=dict[int, float])

    @classmethod
    def together(cls, parts: Sequence[tuple[Rows, PeriodResult]]) -> PeriodResult:
        """One of several.

        Args:
            parts: places of its lanes among all, shape (k,), and what some of them have come to; every place once.
        """
        if len(parts) == 1 and (np.diff(parts[0][0]) > 0).all():
            return parts[0][1]
        order = np.argsort(np.concatenate([places for places, _ in parts]))
        names = ("paid", "state", "seen", "stop", "clearance", "status")
        arrays = {name: np.concatenate([getattr(ran, name) for _, ran in parts])[order] for name in names}
        said = {int(places[i]): why for places, ran in parts for i, why in ran.said.items()}
        ended = {int(places[i]): t for places, ran in parts for i, t in ran.ended.items()}
        return cls(**arrays, said=said, ended=ended)


class Rollout(ABC):
    """Lanes of one task, each in an episode of its own."""

    @abstractmethod
    def begin(self, rows: Rows, starts: InitialConditions) -> PeriodResult:
        """Put some lanes at the starts of new episodes.

        Args:
            rows: which, shape (k,).
            starts: one row for each of them.

        Returns:
            What is seen there, in place of the end of a period.

        Raises:
            ModelError: if natural constraints depend on each other there, gains are unstable, or the step is too long
                for them.
        """

    @abstractmethod
    def go(self, rows: Rows, actions: Array) -> PeriodResult:
        """Take a control period.

        Args:
            rows: which lanes, shape (k,).
            actions: in the units of the inputs, shape (k, n).
        """

    @abstractmethod
    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot go on.

        Args:
            rows: which lanes, shape (k,).
            states: (q, v), shape (k, nx).
        """

    @abstractmethod
    def close(self) -> None:
        """End what runs beside it."""
