"""What a Legendre solver did along a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...robots.legendre import LegendreSolution, Operations

Array = NDArray[np.float64]


class LegendreReport:
    """Iterations and operations of the latest run, one entry per solved programme.

    Pass a new one to an integrator and read it after the run. The first sample needs no solution, since its velocities
    are given, so there is one entry less than there are samples.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._solutions: list[tuple[int, Operations, float]] = []

    def clear(self) -> None:
        """Forget the run before."""
        self._times.clear()
        self._solutions.clear()

    def add(self, t: float, solution: LegendreSolution) -> None:
        """Take over what one solution took.

        Args:
            t: its time [s].
            solution: its counts and residual.
        """
        self._times.append(t)
        self._solutions.append((solution.iterations, solution.operations, solution.residual))

    def __len__(self) -> int:
        """Number of solutions."""
        return len(self._times)

    @property
    def t(self) -> Array:
        """Times of the solutions, shape (N,) [s]."""
        return np.array(self._times)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Steps of the iterative method, shape (N,); 0 for a direct one."""
        return np.array([iterations for iterations, _, _ in self._solutions], dtype=np.int64)

    @property
    def multiplications(self) -> NDArray[np.int64]:
        """Shape (N,)."""
        return np.array([operations.multiplications for _, operations, _ in self._solutions], dtype=np.int64)

    @property
    def additions(self) -> NDArray[np.int64]:
        """Shape (N,)."""
        return np.array([operations.additions for _, operations, _ in self._solutions], dtype=np.int64)

    @property
    def residuals(self) -> Array:
        """‖A z − b‖, shape (N,), in the unit of the momenta."""
        return np.array([residual for _, _, residual in self._solutions])

    def __str__(self) -> str:
        """One line for people."""
        if not len(self):
            return "no solution yet"
        return (
            f"{len(self)} solutions: {self.iterations.mean():.3g} iterations, {self.multiplications.mean():.4g} "
            f"multiplications and {self.additions.mean():.4g} additions on average, largest residual "
            f"{self.residuals.max():.2g}"
        )
