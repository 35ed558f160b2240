"""Velocities that natural constraints admit, nearest to given ones in the metric of the kinetic energy."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.constraint import row_names
from ..symbolic.errors import SingularProgramError
from ..symbolic.kernel import Kernel
from .assembled import misses_of
from .place_equations import Places
from .robot import Robot

Array = NDArray[np.float64]

ITERATIONS = 50
TOLERANCE = 1e-9


class VelocityEquations:
    """e(v) = 0: the rates of the natural constraints of order 0, and those of order 1, at a place q and a time t.

    Attributes:
        robot: whose constraints they are.
        rows: name of each row.
        owners: name of the constraint that each row belongs to.
    """

    def __init__(self, robot: Robot) -> None:
        """Collect the equations.

        Args:
            robot: with or without natural constraints.
        """
        c = robot.coordinates
        forms = [(k, ca.densify(k.residual(c))) for k in robot.natural if k.order < 2]
        self.robot = robot
        self.rows = tuple(name for k, e in forms for name in row_names(k.name, e.numel()))
        self.owners = tuple(k.name for k, e in forms for _ in range(e.numel()))
        e = ca.vertcat(ca.SX(0, 1), *(c.rate(e) if k.order == 0 else e for k, e in forms))
        outputs = {"e": e, "A": ca.jacobian(e, c.v), "M": robot.mass_matrix}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        self._kernel = Kernel("velocities", inputs, outputs, compiled=False)

    def nearest(
        self, places: Places, q: Array, wanted: Array, around: Sequence[Array], rank_tolerance: float
    ) -> tuple[Array, dict[str, float]]:
        """The v with e(v) = 0 that makes (v − w)ᵀM(v − w) least, as a plastic impact would.

        M is replaced by M + c AᵀA, which changes nothing where A (v − w) is given, and makes singular M regular
        wherever the motion is determined at all.

        Args:
            places: time, parameters, and the velocities that may differ from w.
            q: coordinates, shape (nq,).
            wanted: w, shape (nv,).
            around: other places, at which A tells what is small.
            rank_tolerance: share of the largest singular value below which one counts as zero.

        Returns:
            v, and what each constraint is missed by; empty if all hold.

        Raises:
            SingularProgramError: if M and the constraints together leave v undetermined.
        """
        slopes = [self._at(places, x, wanted)[1] for x in (q, *around)]
        scale = max((float(np.linalg.norm(A, 2)) for A in slopes if A.size and np.isfinite(A).all()), default=0.0)
        v, miss, free = wanted, np.zeros(0), places.free
        for _ in range(ITERATIONS):
            miss, A, M = self._at(places, q, v)
            slope, mass = A[:, free], M[np.ix_(free, free)]
            lower = self._metric(mass, slope)
            rank = int((np.linalg.svd(slope, compute_uv=False) > rank_tolerance * scale).sum())
            # In y = Lᵀ v the metric is Euclidean.
            U, s, Vt = np.linalg.svd(np.linalg.solve(lower, slope.T).T, full_matrices=False)
            needed = slope @ (v[free] - wanted[free]) - miss
            after = wanted.copy()
            after[free] += np.linalg.solve(lower.T, Vt[:rank].T @ ((U[:, :rank].T @ needed) / s[:rank]))
            change = float(np.abs(after - v).max(initial=0.0))
            v = after
            if change <= 1e-13 * max(1.0, float(np.abs(v).max(initial=0.0))):
                allowed = TOLERANCE * max(1.0, float(np.abs(A).max(initial=0.0) * np.abs(v).max(initial=0.0)))
                if (np.abs(miss) <= allowed).all():
                    return v, {}
                break
        return v, misses_of(self.owners, miss)

    def _at(self, places: Places, q: Array, v: Array) -> tuple[Array, Array, Array]:
        n = len(v)
        e, A, M = self._kernel(places.t, q, v, places.p)
        return np.atleast_1d(e), A.reshape(len(self.rows), n), M.reshape(n, n)

    def _metric(self, mass: Array, slope: Array) -> Array:
        """L of L Lᵀ = M + c AᵀA."""
        reached = float(np.sum(slope**2))
        weight = float(np.trace(mass)) / reached if reached > 0.0 else 0.0
        try:
            return np.asarray(np.linalg.cholesky(mass + weight * slope.T @ slope), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self.robot.name}: the mass matrix is singular along velocities that no natural constraint forbids, "
                "so the nearest consistent velocities are not determined"
            ) from error
