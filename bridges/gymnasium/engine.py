"""The abstract engine: what takes the steps of a control period."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.starts import Starts
from .judge import Told
from .task import Task

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Period:
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

    told: Told
    paid: Array
    state: Array
    seen: Array
    stop: Array
    clearance: Array
    error: BaseException | None = None

    def of(self, places: Rows) -> Period:
        """The same of some of the lanes.

        Args:
            places: among the k.
        """
        told = {each.name: getattr(self.told, each.name)[places] for each in fields(Told)}
        arrays = {name: getattr(self, name)[places] for name in ("paid", "state", "seen", "stop", "clearance")}
        return Period(Told(**told), **arrays, error=self.error)


class Engine(ABC):
    """Lanes of one task, each at its own time in its own episode.

    Attributes:
        task: whose lanes they are.
        rows: names of the law's rows that are judged.
    """

    task: Task
    rows: tuple[str, ...]

    @abstractmethod
    def begin(self, rows: Rows, starts: Starts, t0: float) -> Period:
        """Put some lanes at the starts of new runs.

        Args:
            rows: which, shape (k,).
            starts: one row for each of them.
            t0: time there [s].

        Returns:
            What is seen there, in place of the end of a period.
        """

    @abstractmethod
    def go(self, rows: Rows, actions: Array) -> Period:
        """Take a control period.

        Args:
            rows: which lanes, shape (k,).
            actions: in the units of the inputs, shape (k, n).
        """

    @abstractmethod
    def steps(self, row: Rows, action: Array, n: int) -> Period:
        """Take some of the steps of a control period.

        Args:
            row: which lane, shape (1,).
            action: in the units of the inputs, shape (n,).
            n: how many, at most as many as a period has.
        """

    @abstractmethod
    def part(self, row: Rows, action: Array, length: float) -> Period:
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
        """What :meth:`put_back` takes, of some lanes.

        Args:
            rows: which, shape (k,).
        """

    @abstractmethod
    def put_back(self, row: Rows, kept: Any, place: int) -> None:  # noqa: ANN401 - each engine keeps its own
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


def natural_judged(task: Task) -> bool:
    """Whether natural rows are judged: not where an integrator passes dependent ones.

    Args:
        task: with the robot and the integrator.
    """
    return bool(task.setup.robot.natural) and not task.integrator.passes_dependent_rows
