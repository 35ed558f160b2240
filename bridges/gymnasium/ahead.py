"""Starts of episodes to come, drawn many at a time: a draw of one costs as much as that of a thousand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...scenarios.starts import Starts
from ...symbolic.errors import EruginError
from .draws import Draws, later_seeds

Rows = NDArray[np.intp]
Seeds = NDArray[np.int64]
DEPTH = 16
"""Episodes of a lane that are drawn at a time, after its first."""


class Ahead:
    """Starts by lane and episode; each is what its seed draws, whenever it was drawn."""

    def __init__(self, draws: Draws, lanes: int) -> None:
        """Nothing drawn yet.

        Args:
            draws: what episodes begin with.
            lanes: how many.
        """
        self._draws = draws
        self._end = np.zeros(lanes, dtype=np.int64)
        self._x, self._numbers = np.zeros((lanes, 0, 0)), np.zeros((lanes, 0, 0))

    def forget(self, rows: Rows) -> None:
        """New seeds have been sown.

        Args:
            rows: in which lanes.
        """
        self._end[rows] = 0

    def starts(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> Starts:
        """Of one episode of each of some lanes; those of a lane are asked for in their order.

        Args:
            rows: which lanes, shape (k,).
            first: seed of the first episode of each, shape (k,).
            episode: number of the episode, shape (k,).

        Raises:
            ParameterError: for a value that is drawn out of its range.
        """
        if (episode == 0).any():
            return self._draws.starts(later_seeds(first, episode), {})
        empty = episode >= self._end[rows]
        if empty.any():
            try:
                self._fill(rows[empty], first[empty], episode[empty])
            except EruginError:
                # One that is out of its range may be long in coming: only those that are due are drawn.
                return self._draws.starts(later_seeds(first, episode), {})
        at = episode - (self._end[rows] - DEPTH)
        return Starts(self._x[rows, at], self._numbers[rows, at], True)

    def _fill(self, rows: Rows, first: Seeds, episode: NDArray[np.int64]) -> None:
        later = episode[:, None] + np.arange(DEPTH)
        seeds = later_seeds(np.repeat(first, DEPTH), later.ravel())
        drawn = self._draws.starts(seeds, {})
        if not self._x.size:
            lanes = len(self._end)
            self._x = np.zeros((lanes, DEPTH, drawn.x.shape[1]))
            self._numbers = np.zeros((lanes, DEPTH, drawn.numbers.shape[1]))
        self._x[rows] = drawn.x.reshape(len(rows), DEPTH, -1)
        self._numbers[rows] = drawn.numbers.reshape(len(rows), DEPTH, -1)
        self._end[rows] = episode + DEPTH
