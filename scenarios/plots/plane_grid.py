"""Places of a rectangle, and a field's functions on them at one time after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Grid:
    """Places of a rectangle.

    Attributes:
        x: abscissas, shape (n, n) [m].
        y: ordinates, shape (n, n) [m].
        places: the same as columns, shape (2, n²) [m].
    """

    x: Array
    y: Array
    places: Array

    @classmethod
    def over(cls, low: Array, high: Array, n: int) -> Grid:
        """n × n places between two corners.

        Args:
            low: one corner, shape (2,) [m].
            high: the other, shape (2,) [m].
            n: along each side.
        """
        share = np.arange(n) / (n - 1)
        x: Array = np.tile(low[0] + (high[0] - low[0]) * share, (n, 1))
        y: Array = np.tile((low[1] + (high[1] - low[1]) * share)[:, None], (1, n))
        return cls(x, y, np.asfortranarray(np.vstack([x.ravel(), y.ravel()])))

    def around(self, values: Array) -> tuple[Array, Array, Array]:
        """Abscissas, ordinates and values where these are negative, with one place more to each side.

        Args:
            values: on the grid, some of them negative, shape (n, n).
        """
        inside = values < 0.0
        rows, columns = (
            slice(max(0, int(found[0]) - 1), int(found[-1]) + 2)
            for found in (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
        )
        return self.x[rows, columns], self.y[rows, columns], values[rows, columns]


class Sampled:
    """Outputs of a kernel of place, time and parameters on a grid; bound to memory once, for that takes longest."""

    def __init__(self, kernel: Kernel, grid: Grid, p: Array) -> None:
        """Bind.

        Args:
            kernel: with the inputs x, t and p.
            grid: the places.
            p: values of the parameters, shape (np,).
        """
        n = grid.places.shape[1]
        self._results = [np.zeros((rows, n), order="F") for rows, _ in kernel.outputs.values()]
        self._time = np.zeros((1, n), order="F")
        values = np.asfortranarray(np.tile(p[:, None], (1, n)))
        self._run = kernel.loop(n, 0, [grid.places, self._time, values], self._results)

    def at(self, t: float) -> list[Array]:
        """Each output at a time, shape (rows, places).

        Args:
            t: time [s].
        """
        self._time[:] = t
        self._run()
        return [result.copy() for result in self._results]
