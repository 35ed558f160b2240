"""The independent combinations of natural rows that may depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import NotFiniteError, SingularProgramError

Array = NDArray[np.float64]
NOTHING = 1e-7
"""Share of the largest singular value below which a combination of rows is taken to vanish."""


class RowBasis:
    """Orthonormal combinations of the rows A in one run, as many as were independent at its start.

    Where the rank is r everywhere, r combinations that are independent in a place have the same zeros near it as all
    rows, and multipliers among them are those of least norm.
    """

    def __init__(self, robot: Robot) -> None:
        """Nothing seen yet.

        Args:
            robot: whose rows they are; without ``redundant="least-norm"`` all of them are independent.
        """
        self._robot = robot
        self._rank: int | None = None

    def at(self, t: float, rows: Array, further: int = 0) -> Array | None:
        """Basis of (velocities, multipliers, further unknowns), shape (nv + m + k, nv + r + k).

        Args:
            t: time, for messages [s].
            rows: A, shape (m, nv).
            further: k, unknowns that have nothing to do with the rows.

        Returns:
            None where all rows are independent.

        Raises:
            SingularProgramError: if the rank is not what it was at the start.
            NotFiniteError: if a row is not finite.
        """
        m, n = rows.shape
        if m == 0 or self._robot.redundant != "least-norm":
            return None
        if not np.isfinite(rows).all():
            raise NotFiniteError(f"{self._robot.name}: natural rows are not finite at t = {t:g} s")
        lengths = np.linalg.norm(rows, axis=1)
        lengths[lengths == 0.0] = 1.0
        left, values, _ = np.linalg.svd(rows / lengths[:, None])
        rank = int(np.count_nonzero(values > NOTHING * max(values[0], 1e-300)))
        if self._rank is None:
            self._rank = rank
        if rank != self._rank:
            raise SingularProgramError(
                f"{self._robot.name}: at t = {t:g} s {rank} natural rows are independent, and {self._rank} were at the "
                "start: a singular position, or loops that have opened. Take integrator=Reduced(), which goes through "
                "singular positions; shorter steps; or another start"
            )
        if rank == m:
            return None
        basis = np.zeros((n + m + further, n + rank + further))
        basis[:n, :n], basis[n + m :, n + rank :] = np.eye(n), np.eye(further)
        # Rows of the equations are combined as they are measured: by their lengths.
        basis[n : n + m, n : n + rank] = left[:, :rank] / lengths[:, None]
        return basis
