"""The abstract engine: what takes the steps of a control period."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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


class Engine(ABC):
    """Lanes of one task, each at its own time in its own episode.

    Attributes:
        task: whose lanes they are.
        rows: names of the law's rows that are judged.
    """

    task: Task
    rows: tuple[str, ...]

    @abstractmethod
    def begin(self, rows: Rows, starts: Starts) -> Period:
        """Put some lanes at the starts of new episodes.

        Args:
            rows: which, shape (k,).
            starts: one row for each of them.

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
