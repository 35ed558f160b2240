"""Branches of motion on the constraint manifold: positions, velocities and tangents, by kernels and least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from .chart import Chart
from .manifold import Manifold, ManifoldPart

Array = NDArray[np.float64]


class BranchKernels:
    """The expressions of a manifold as functions of numbers; they serve every set of parameters."""

    def __init__(self, manifold: Manifold) -> None:
        """Build them for the virtual machine, which needs no compiler.

        Args:
            manifold: whose expressions.
        """
        c, p = manifold.robot.coordinates, manifold.robot.p
        place = {"phi": manifold.place, "slope": manifold.slope, "N": c.N}
        self._place = Kernel("branch_place", {"t": c.t, "q": c.q, "p": p}, place, compiled=False)
        state = {"t": c.t, "q": c.q, "v": c.v, "p": p}
        speed = {"rho": manifold.velocity, "A": manifold.A, "b": manifold.b}
        self._speed = Kernel("branch_speed", state, speed, compiled=False)
        rows = ca.sparsify(manifold.A)
        self._square = Kernel("branch_square", state, {"square": ca.densify(rows @ rows.T)}, compiled=False)
        rate = ca.substitute(manifold.A_rate, c.a, ca.SX.zeros(c.nv))
        self._rate = Kernel("branch_rate", state, {"rate": rate}, compiled=False)
        self._nq, self._nv = c.nq, c.nv

    def place(self, t: float, q: Array, p: Array) -> tuple[Array, Array, Array]:
        """φ, shape (m₀,), φ_q, shape (m₀, nq), and N, shape (nq, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters.
        """
        phi, slope, N = self._place(t, q, p)
        return phi.reshape(-1), slope.reshape(-1, self._nq), N.reshape(self._nq, self._nv)

    def speed(self, t: float, q: Array, v: Array, p: Array) -> tuple[Array, Array, Array]:
        """ρ, shape (m,), A, shape (m, nv), and b, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        rho, A, b = self._speed(t, q, v, p)
        return rho.reshape(-1), A.reshape(-1, self._nv), b.reshape(-1)

    def square(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """A Aᵀ, shape (m, m).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return np.atleast_2d(self._square(t, q, v, p)[0])

    def rate(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """dA/dt without the share of the accelerations, shape (m, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return self._rate(t, q, v, p)[0].reshape(-1, self._nv)


def solve_least_squares(matrix: Array, right: Array) -> Array:
    """x of least squares |A x − b|, for a matrix of full column rank, shape (m, r).

    Args:
        matrix: A.
        right: b, shape (m,) or (m, k).
    """
    m, r = matrix.shape
    if r == 0 or m == 0:
        return np.zeros((r, *right.shape[1:]))
    try:
        if m == r:
            return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full((r, *right.shape[1:]), np.nan)


RANK_TOLERANCE = 1e-9
"""Share of the largest singular value of A, its rows at their usual lengths, that counts as zero."""
ITERATIONS = 12
"""Newton steps; from within half a step of the solution five are enough."""
CLOSE = 1e-8
"""A Newton step shorter than this leaves an error below rounding after one more."""
MISFIT = 1e-9
"""What rows that are left over may miss: more, and they contradict the others."""
AROUND = 0.1
"""Change of a coordinate over which the size of A is looked at."""
STEEPEST = 0.6
"""Tangent of the angle by which the free directions may turn within a step."""
SMALL = 12
"""Rows up to which all singular values cost no more than the least one."""
CONVERGED = 1e-3
"""Change of its square in an iteration below which the least singular value is good enough to be compared."""
FAR = 1e-12
"""Share of the greatest square below which the least is lost in the squares' rounding errors."""


class LostBranchError(SingularProgramError):
    """The states of a branch were not found, or those found are on another one; shorter steps may help."""


@dataclass(frozen=True, eq=False)
class BranchGeometry:
    """A state of the branch and what its accelerations can be: a = G ẇ + γ.

    Attributes:
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        tangent: G, shape (nv, k): A G = 0 and UᵀG = E in the chart's U.
        place_tangent: the same of the holonomic rows alone, shape (nv, k₀).
        bias_acceleration: γ, shape (nv,): A γ = b and Uᵀγ = 0.
    """

    q: Array
    v: Array
    tangent: Array
    place_tangent: Array
    bias_acceleration: Array


class MotionBranch:
    """Solves the constraints of one robot with the free coordinates of a chart given.

    Attributes:
        manifold: what is solved.
        p: parameters of the robot.
        typical: for each part of the manifold the largest smallest singular value of A met so far, its rows at their
            usual lengths.
        spacing: likewise, of the nodes that the last interpolation across a singular position took; zero before the
            first.
    """

    def __init__(self, manifold: Manifold, p: Array, kernels: BranchKernels | None = None) -> None:
        """Prepare for one set of parameters.

        Args:
            manifold: of the robot.
            p: parameters.
            kernels: those of the manifold, if they are there already.
        """
        self.manifold, self.p = manifold, p
        self.typical, self.spacing = np.zeros(len(manifold.parts)), np.zeros(len(manifold.parts))
        self._kernels = BranchKernels(manifold) if kernels is None else kernels
        self._lengths = np.zeros(len(manifold.rows))

    @property
    def lengths(self) -> Array:
        """Usual lengths of the rows of A, shape (m,); one for a row that has always been zero."""
        return np.where(self._lengths > 0.0, self._lengths, 1.0)

    def scaled_rows(self, t: float, q: Array, v: Array) -> Array:
        """A, shape (m, nv), every row divided by the greatest length that it has had.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            NotFiniteError: if A is NaN or infinite.
        """
        A = self._kernels.speed(t, q, v, self.p)[1]
        if not np.isfinite(A).all():
            row = self.manifold.rows[int(np.argwhere(~np.isfinite(A))[0, 0])]
            raise NotFiniteError(
                f"{self.manifold.robot.name}: the natural constraint {row!r} has a gradient that is not finite at t = "
                f"{t:g} s, q = {np.array2string(q, precision=4)}"
            )
        self._lengths = np.maximum(self._lengths, np.linalg.norm(A, axis=1))
        return A / self.lengths[:, None]

    def look_around(self, t: float, q: Array, v: Array) -> None:
        """Learn the usual lengths of the rows, by which one that vanishes here is known from one that is short.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        for shift in AROUND * np.eye(len(q)):
            sides = [self._kernels.speed(t, q + side * shift, v, self.p)[1] for side in (-1.0, 1.0)]
            lengths = np.min([np.linalg.norm(A, axis=1) for A in sides], axis=0)
            # The lesser of both sides, since a pole on one of them is no usual length.
            self._lengths = np.maximum(self._lengths, np.where(np.isfinite(lengths), lengths, 0.0))

    def right_side(self, t: float, q: Array, v: Array) -> Array:
        """The right side b of A a = b, scaled like the rows, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return self._kernels.speed(t, q, v, self.p)[2] / self.lengths

    def rows(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """A, shape (m, nv), and φ_q, shape (m₀, nq), as they are.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return self._kernels.speed(t, q, v, self.p)[1], self._kernels.place(t, q, self.p)[1]

    def tangents(self, t: float, q: Array, v: Array, chart: Chart) -> list[tuple[Array, Array]]:
        """What A, and its holonomic rows alone, leave free in each part of the manifold near a chart.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            chart: of the branch.
        """
        A, found = self.scaled_rows(t, q, v), list[tuple[Array, Array]]()
        for part, known in zip(self.manifold.parts, chart.each, strict=True):
            rows = A[np.ix_(part.rows, part.v)]
            tangent = place_tangent = known.free - _constrained_change(rows, known.free, rows @ known.free)
            if known.free_places is not known.free:
                places = rows[: part.places]
                place_tangent = known.free_places - _constrained_change(
                    places, known.free_places, places @ known.free_places
                )
            found.append((tangent, place_tangent))
        return found

    def rows_rate(self, t: float, q: Array, v: Array) -> Array:
        """dA/dt without the share of the accelerations, scaled like the rows, shape (m, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        rate = self._kernels.rate(t, q, v, self.p)
        return rate / self.lengths[:, None]

    def kinematic_matrix(self, t: float, q: Array) -> Array:
        """N of q̇ = N v, shape (nq, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
        """
        return self._kernels.place(t, q, self.p)[2]

    def nearness(self, t: float, q: Array, v: Array, chart: Chart, part: int) -> float:
        """The smallest singular value of A in a part, of as many as a chart holds: zero where A loses rank.

        Rows are at their usual lengths. Rows that all vanish together count, a single one too; what is looked at here
        changes no usual length.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            chart: along the branch.
            part: number of the part.
        """
        rank, own = chart.each[part].rank, self.manifold.parts[part]
        if rank == 0:
            return 1.0
        lengths = self.lengths[own.rows]
        if SMALL < len(own.rows) == rank:
            square = self._kernels.square(t, q, v, self.p)[np.ix_(own.rows, own.rows)]
            least = _least_root(square / lengths / lengths[:, None])
        else:
            A = self._kernels.speed(t, q, v, self.p)[1][np.ix_(own.rows, own.v)] / lengths[:, None]
            if not np.isfinite(A).all():
                return 0.0
            values = np.linalg.svd(A, compute_uv=False)
            least = float(values[rank - 1] / max(1.0, values[0]))
        self.typical[part] = max(float(self.typical[part]), least)
        return least

    def solve(self, chart: Chart, t: float, q: Array, v: Array, part: int | None = None) -> BranchGeometry:
        """The state of the branch with the free coordinates and velocities of (q, v), where A has its full rank.

        Places are moved along N₀W₀ and velocities along W only.

        Args:
            chart: directions of the step.
            t: time [s].
            q: coordinates near the branch, shape (nq,).
            v: velocities, shape (nv,).
            part: number of the part of the manifold that is solved for; all if not given. What does not belong to it
                stays as it is in q and v, and zero in the rest.

        Raises:
            LostBranchError: if Newton's method does not settle, or the tangent has turned too far.
            SingularProgramError: if rows contradict one another.
        """
        if part is None and chart.parts:
            return self.joined(chart, q, v, [self.solve(chart, t, q, v, i) for i in range(len(chart.parts))])
        own = self.manifold.parts[part or 0]
        local = chart.each[part or 0]
        q = self._close(local, t, q, own)
        v, A, b = self._admit(local, t, q, v, own)
        lengths, m0 = self.lengths[own.rows], own.places
        A, b = A / lengths[:, None], b / lengths
        found = _constrained_change(A, local.free, np.column_stack([A @ local.free, b]))
        turned = found[:, :-1]
        tangent = local.free - turned
        place_tangent = tangent
        if local.free_places is not local.free:
            A0 = A[:m0]
            place_tangent = local.free_places - _constrained_change(A0, local.free_places, A0 @ local.free_places)
        # By the coordinate that turns most, beside the greatest: one crank of many that leaves its branch counts.
        if not _greatest(turned) <= STEEPEST * _greatest(local.free):
            raise LostBranchError(
                f"{self.manifold.robot.name} at t = {t:g} s: the free directions turn by more than "
                f"{np.degrees(np.arctan(STEEPEST)):.0f} degrees within a step; take shorter steps"
            )
        return BranchGeometry(q, v, tangent, place_tangent, found[:, -1])

    def joined(self, chart: Chart, q: Array, v: Array, found: Sequence[BranchGeometry]) -> BranchGeometry:
        """The state of all parts from those of each.

        Args:
            chart: directions of the step.
            q: coordinates of what is in no part, shape (nq,).
            v: velocities of what is in no part, shape (nv,).
            found: what :meth:`solve` finds of each part.
        """
        q, v, bias_acceleration = q.copy(), v.copy(), np.zeros(len(v))
        tangent, place_tangent = np.zeros(chart.free.shape), np.zeros(chart.free_places.shape)
        k = k0 = 0
        for part, here in zip(self.manifold.parts, found, strict=True):
            q[part.q], v[part.v], bias_acceleration[part.v] = here.q[part.q], here.v[part.v], here.bias_acceleration
            tangent[part.v, k : (k := k + here.tangent.shape[1])] = here.tangent
            place_tangent[part.v, k0 : (k0 := k0 + here.place_tangent.shape[1])] = here.place_tangent
        return BranchGeometry(q, v, tangent, place_tangent, bias_acceleration)

    def _close(self, chart: Chart, t: float, q: Array, part: ManifoldPart) -> Array:
        """Places of a part on the branch."""
        rows = part.rows[: part.places]
        if len(rows) == 0:
            return q
        lengths, q = self.lengths[rows], q.copy()
        size, last = 1.0 + float(np.abs(q[part.q]).max()), False
        for _ in range(ITERATIONS):
            phi, slope, _ = self._kernels.place(t, q, self.p)
            phi, slope = phi[rows], slope[np.ix_(rows, part.q)] / lengths[:, None]
            change = _constrained_change(
                slope if chart.is_plain else slope @ chart.lift, chart.free_places, phi / lengths
            )
            done = last and float(np.abs(phi / lengths).max()) <= MISFIT * size
            q[part.q] -= change if chart.is_plain else chart.lift @ change
            if done:
                return q
            last = float(np.abs(change).max(initial=0.0)) <= CLOSE * size
            if not np.isfinite(q).all():
                break
        misses = np.abs(self._kernels.place(t, q, self.p)[0][rows])
        worst = rows[int(np.argmax(np.where(np.isfinite(misses), misses, np.inf)))]
        raise LostBranchError(
            f"{self.manifold.robot.name} at t = {t:g} s: no place of the branch within the step; "
            f"{self.manifold.rows[worst]!r} misses by {np.max(misses):.3g}. Take shorter steps, or start where the "
            "natural constraints hold and do not contradict one another"
        )

    def _admit(self, chart: Chart, t: float, q: Array, v: Array, part: ManifoldPart) -> tuple[Array, Array, Array]:
        """Velocities of a part that are admitted, and A and b there."""
        rows = part.rows
        if len(rows) == 0:
            return v, np.zeros((0, len(part.v))), np.zeros(0)
        lengths, v = self.lengths[rows], v.copy()
        size, last = 1.0 + float(np.abs(v[part.v]).max(initial=0.0)), False
        for _ in range(ITERATIONS):
            rho, A, b = self._kernels.speed(t, q, v, self.p)
            rho, A, b = rho[rows], A[np.ix_(rows, part.v)], b[rows]
            if last and float(np.abs(rho / lengths).max()) <= MISFIT * size:
                return v, A, b
            change = _constrained_change(A / lengths[:, None], chart.free, rho / lengths)
            v[part.v] -= change
            last = float(np.abs(change).max(initial=0.0)) <= 1e-6 * size
            if not np.isfinite(v).all():
                break
        misses = np.abs(self._kernels.speed(t, q, v, self.p)[0][rows])
        worst = rows[int(np.argmax(np.where(np.isfinite(misses), misses, np.inf)))]
        raise LostBranchError(
            f"{self.manifold.robot.name} at t = {t:g} s: no velocities satisfy the natural constraints near those of "
            f"the step; the rate of {self.manifold.rows[worst]!r} misses by {np.max(misses):.3g}. Take shorter steps, "
            "unless the constraints contradict one another"
        )


def _constrained_change(rows: Array, free: Array, right: Array) -> Array:
    """δ with A δ = r, of least squares if rows are redundant, and Uᵀδ = 0."""
    (m, n), k = rows.shape, free.shape[1]
    if m + k == n:
        border = np.zeros((k, *right.shape[1:]))
        return solve_least_squares(np.concatenate([rows, free.T]), np.concatenate([right, border]))
    held = np.linalg.qr(free, mode="complete").Q[:, k:] if k else np.eye(n)
    return np.asarray(held @ solve_least_squares(rows @ held, right))


def _least_root(square: Array) -> float:
    """The smallest singular value of A from A Aᵀ, beside a bound of the greatest where this is above one; or zero.

    It is good to some digits: what is compared with it is a share of a usual value.
    """
    from scipy.linalg import lapack  # a tenth of a second to import

    greatest = float(np.abs(square).sum(axis=1).max())
    factor, failed = lapack.dpotrf(square) if math.isfinite(greatest) else (square, 1)
    guess = np.cos(np.sqrt(2.0) * np.arange(1.0, len(square) + 1.0))
    growth, before = float(np.linalg.norm(guess)), 0.0
    while not failed and abs(growth - before) > CONVERGED * growth:
        guess, before = lapack.dpotrs(factor, guess / growth)[0], growth
        growth = float(np.linalg.norm(guess))
        failed = not growth < 1.0 / (FAR * greatest)
    return 0.0 if failed else 1.0 / math.sqrt(growth * max(1.0, greatest))


def _greatest(directions: Array) -> float:
    """Greatest length of a row, which no rotation of the columns changes."""
    return float(np.sqrt(np.square(directions).sum(axis=1).max(initial=0.0)))
