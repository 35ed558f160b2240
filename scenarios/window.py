"""Room for a block of samples of closed loops that run side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Lanes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Window:
    """Where samples first … first + n − 1 of some lanes are to be written; a lane is one closed loop of a batch.

    Attributes:
        first: index of the first sample.
        n: number of samples.
        last: whether the last of them is the last of a full run, so that no step after it is needed.
        lanes: rows of the arrays that are wanted, ascending, shape (k,); no others may be written.
        states: x at each sample, shape (lanes of the record, n, nx); the samples of one lane are contiguous.
        data: what is recorded at each sample, shape (lanes of the record, n, size) each, likewise.
    """

    first: int
    n: int
    last: bool
    lanes: Lanes
    states: Array
    data: dict[str, Array]

    def cut(self, n: int) -> Window:
        """Its first samples.

        Args:
            n: how many.
        """
        if n == self.n:
            return self
        data = {key: room[:, :n] for key, room in self.data.items()}
        return Window(self.first, n, False, self.lanes, self.states[:, :n], data)
