"""The abstract course: what takes lanes through their control periods, and says which of them cannot go on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...scenarios.starts import Starts
from .engine import Rows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ran:
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
    def together(cls, parts: Sequence[tuple[Rows, Ran]]) -> Ran:
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


class Course(ABC):
    """Lanes of one task, each in an episode of its own."""

    @abstractmethod
    def begin(self, rows: Rows, starts: Starts) -> Ran:
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
    def go(self, rows: Rows, actions: Array) -> Ran:
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
