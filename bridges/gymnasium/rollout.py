"""Abstract stepper and rollout, which advance the lanes of a task through their control periods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simulation.initial_conditions import InitialConditions
from .episode_termination import StepSignals

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class PeriodSteps:
    """Steps of a control period, one row per lane that took them.

    Attributes:
        signals: signals of the steps, at their starts.
        reward: sum of the reward's rate over the steps times h, shape (k,); zero for a reward that is a function.
        state: (q, v) at its end, shape (k, nx).
        observation: the observation at its end, shape (k, n).
        stop: largest value of the stop condition at the ends of its steps, shape (k,); −inf without one.
        clearance: least clearance at the ends of its steps, shape (k,); inf without one.
        error: exception raised by a controller that is called from Python, or None.
    """

    signals: StepSignals
    reward: Array
    state: Array
    observation: Array
    stop: Array
    clearance: Array
    error: BaseException | None = None

    def of(self, indices: Rows) -> PeriodSteps:
        """Return the rows of some of the lanes.

        Args:
            indices: indices among the k rows.
        """
        signals = {each.name: getattr(self.signals, each.name)[indices] for each in fields(StepSignals)}
        arrays = {
            name: getattr(self, name)[indices] for name in ("reward", "state", "observation", "stop", "clearance")
        }
        return PeriodSteps(StepSignals(**signals), **arrays, error=self.error)


class Stepper(ABC):
    """Lanes of one task, each at its own time in its own episode.

    Attributes:
        rows: names of the law's rows that are monitored.
    """

    rows: tuple[str, ...]

    @abstractmethod
    def begin(self, rows: Rows, starts: InitialConditions, t0: float) -> PeriodSteps:
        """Put some lanes at the starts of new runs.

        Args:
            rows: indices of the lanes, shape (k,).
            starts: initial conditions, one row per lane.
            t0: initial time [s].

        Returns:
            The values at the start, in place of those at the end of a period.
        """

    @abstractmethod
    def step_period(self, rows: Rows, actions: Array) -> PeriodSteps:
        """Take a control period.

        Args:
            rows: indices of the lanes, shape (k,).
            actions: actions in the units of the inputs, shape (k, n).
        """

    @abstractmethod
    def take_steps(self, row: Rows, action: Array, n: int) -> PeriodSteps:
        """Take some of the steps of a control period.

        Args:
            row: index of the lane, shape (1,).
            action: action in the units of the inputs, shape (n,).
            n: number of steps, at most those of a period.
        """

    @abstractmethod
    def take_partial_step(self, row: Rows, action: Array, length: float) -> PeriodSteps:
        """Take one step of another length; later steps continue from its end.

        Args:
            row: index of the lane, shape (1,).
            action: action in the units of the inputs, shape (n,).
            length: length of the step [s].
        """

    @abstractmethod
    def first_positive(self, row: Rows, n: int) -> int:
        """Return the number of steps, among those just taken, before the first that ended with a positive stop.

        Args:
            row: index of the lane, shape (1,).
            n: number of steps just taken.
        """

    @abstractmethod
    def begin_period(self, row: Rows) -> None:
        """Make the next step the first of a control period.

        Args:
            row: index of the lane, shape (1,).
        """

    @abstractmethod
    def snapshot(self, rows: Rows) -> object:
        """Return the state of some lanes for :meth:`restore`.

        Args:
            rows: indices of the lanes, shape (k,).
        """

    @abstractmethod
    def restore(self, row: Rows, snapshot: Any, index: int) -> None:  # noqa: ANN401 - each engine keeps its own
        """Put a lane back to its state in a snapshot.

        Args:
            row: index of the lane, shape (1,).
            snapshot: result of :meth:`snapshot`.
            index: index of the lane in the snapshot.
        """

    @abstractmethod
    def time(self, row: Rows) -> float:
        """Return the time of the last sample of a lane [s].

        Args:
            row: index of the lane, shape (1,).
        """

    @abstractmethod
    def state(self, row: Rows) -> Array:
        """Return (q, v) at the last sample of a lane, shape (nx,).

        Args:
            row: index of the lane, shape (1,).
        """

    @abstractmethod
    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot continue.

        Args:
            rows: indices of the lanes, shape (k,).
            states: states (q, v), shape (k, nx).
        """

    def close(self) -> None:  # noqa: B027 - an engine without threads has none to end
        """Stop its threads, if any."""


@dataclass(frozen=True, eq=False)
class PeriodResult:
    """Result of a control period, one row per lane that took it.

    Attributes:
        reward: sum of the reward's rate over the steps times their lengths, shape (k,).
        state: (q, v) at its end, shape (k, nx).
        observation: the observation at its end, shape (k, n).
        stop: positive if the motion has reached its end, shape (k,).
        clearance: least clearance at the ends of its steps, shape (k,); inf without one.
        status: status of the law and the motion, shape (k,).
        reasons: why a lane cannot continue, by index among the k rows.
        end_times: time at which a lane ended before the end of the period, by index among the k rows [s].
    """

    reward: Array
    state: Array
    observation: Array
    stop: Array
    clearance: Array
    status: NDArray[np.int64]
    reasons: Mapping[int, str]
    end_times: Mapping[int, float] = field(default_factory=dict[int, float])

    @classmethod
    def combine(cls, parts: Sequence[tuple[Rows, PeriodResult]]) -> PeriodResult:
        """Combine results of disjoint lanes into one.

        Args:
            parts: pairs of the indices of lanes among all, shape (k,), and their result; every index once.
        """
        if len(parts) == 1 and (np.diff(parts[0][0]) > 0).all():
            return parts[0][1]
        order = np.argsort(np.concatenate([indices for indices, _ in parts]))
        names = ("reward", "state", "observation", "stop", "clearance", "status")
        arrays = {name: np.concatenate([getattr(result, name) for _, result in parts])[order] for name in names}
        reasons = {int(indices[i]): why for indices, result in parts for i, why in result.reasons.items()}
        end_times = {int(indices[i]): t for indices, result in parts for i, t in result.end_times.items()}
        return cls(**arrays, reasons=reasons, end_times=end_times)


class Rollout(ABC):
    """Lanes of one task, each in its own episode."""

    @abstractmethod
    def begin(self, rows: Rows, starts: InitialConditions) -> PeriodResult:
        """Put some lanes at the starts of new episodes.

        Args:
            rows: indices of the lanes, shape (k,).
            starts: initial conditions, one row per lane.

        Returns:
            The values at the start, in place of those at the end of a period.

        Raises:
            ModelError: if natural constraints depend on each other at the start, gains are unstable, or the step is
                too long for them.
        """

    @abstractmethod
    def step_period(self, rows: Rows, actions: Array) -> PeriodResult:
        """Take a control period.

        Args:
            rows: indices of the lanes, shape (k,).
            actions: actions in the units of the inputs, shape (k, n).
        """

    @abstractmethod
    def halt(self, rows: Rows, states: Array) -> None:
        """Put some lanes back to states from which they cannot continue.

        Args:
            rows: indices of the lanes, shape (k,).
            states: states (q, v), shape (k, nx).
        """

    @abstractmethod
    def close(self) -> None:
        """Stop its threads, if any."""
