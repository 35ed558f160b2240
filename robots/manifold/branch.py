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
    """Numerical evaluation of the expressions of a manifold, for any parameters."""

    def __init__(self, manifold: Manifold) -> None:
        """Build the kernels for the virtual machine, which needs no compiler.

        Args:
            manifold: manifold whose expressions are evaluated.
        """
        c, p = manifold.robot.coordinates, manifold.robot.p
        position = {"phi": manifold.position_residual, "slope": manifold.slope, "N": c.N}
        self._position = Kernel("branch_place", {"t": c.t, "q": c.q, "p": p}, position, compiled=False)
        state = {"t": c.t, "q": c.q, "v": c.v, "p": p}
        velocity = {"rho": manifold.velocity_residual, "A": manifold.A, "b": manifold.b}
        self._velocity = Kernel("branch_speed", state, velocity, compiled=False)
        rows = ca.sparsify(manifold.A)
        self._square = Kernel("branch_square", state, {"square": ca.densify(rows @ rows.T)}, compiled=False)
        rate = ca.substitute(manifold.A_rate, c.a, ca.SX.zeros(c.nv))
        self._rate = Kernel("branch_rate", state, {"rate": rate}, compiled=False)
        self._nq, self._nv = c.nq, c.nv

    def position(self, t: float, q: Array, p: Array) -> tuple[Array, Array, Array]:
        """Evaluate φ, shape (m₀,), φ_q, shape (m₀, nq), and N, shape (nq, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters.
        """
        phi, slope, N = self._position(t, q, p)
        return phi.reshape(-1), slope.reshape(-1, self._nq), N.reshape(self._nq, self._nv)

    def velocity(self, t: float, q: Array, v: Array, p: Array) -> tuple[Array, Array, Array]:
        """Evaluate ρ, shape (m,), A, shape (m, nv), and b, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        rho, A, b = self._velocity(t, q, v, p)
        return rho.reshape(-1), A.reshape(-1, self._nv), b.reshape(-1)

    def square(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """Evaluate A Aᵀ, shape (m, m).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return np.atleast_2d(self._square(t, q, v, p)[0])

    def rate(self, t: float, q: Array, v: Array, p: Array) -> Array:
        """Evaluate dA/dt at a = 0, shape (m, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters.
        """
        return self._rate(t, q, v, p)[0].reshape(-1, self._nv)


def solve_least_squares(matrix: Array, right: Array) -> Array:
    """Return x of least |A x − b|, for a matrix of full column rank.

    Args:
        matrix: A, shape (m, r).
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
"""Relative size of a singular value of A, with rows scaled by their usual lengths, that counts as zero."""
AT_REST = 1e-12
"""Speed below which velocities do not distinguish branches."""
ITERATIONS = 12
"""Largest number of Newton steps; from within half a step of the solution five are enough."""
CLOSE = 1e-8
"""Newton step after which one more reaches rounding error."""
MISFIT = 1e-9
"""Residual of redundant rows above which they contradict the others."""
AROUND = 0.1
"""Change of a coordinate over which the usual size of A is evaluated."""
STEEPEST = 0.6
"""Tangent of the largest rotation of the free directions within a step."""
SMALL = 12
"""Number of rows up to which all singular values cost no more than the smallest one."""
CONVERGED = 1e-3
"""Relative change in an iteration below which the smallest singular value is accurate enough for comparison."""
FAR = 1e-12
"""Ratio of the smallest to the largest squared singular value below which the former is lost in rounding errors."""


class LostBranchError(SingularProgramError):
    """The next states of a branch were not found, or are on another branch; shorter steps may help."""


@dataclass(frozen=True, eq=False)
class BranchGeometry:
    """A state of the branch and its admissible accelerations, a = G ẇ + γ.

    Attributes:
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        tangent: G, shape (nv, k): A G = 0 and UᵀG = E with U of the chart.
        position_tangent: tangent of the holonomic rows alone, shape (nv, k₀).
        bias_acceleration: γ, shape (nv,): A γ = b and Uᵀγ = 0.
    """

    q: Array
    v: Array
    tangent: Array
    position_tangent: Array
    bias_acceleration: Array


class MotionBranch:
    """Solver for the constraints of one robot, given the free coordinates of a chart.

    Attributes:
        manifold: manifold of the constraints.
        p: parameters of the robot.
        typical: for each part of the manifold, the largest value so far of the smallest singular value of A, with rows
            scaled by their usual lengths.
        spacing: for each part, the spacing of nodes of the last interpolation across a singular position; zero before
            the first.
    """

    def __init__(self, manifold: Manifold, p: Array, kernels: BranchKernels | None = None) -> None:
        """Prepare for one set of parameters.

        Args:
            manifold: manifold of the robot.
            p: parameters.
            kernels: kernels of the manifold, if already built.
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
        """Return A, shape (m, nv), with every row divided by its greatest length so far.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).

        Raises:
            NotFiniteError: if A is NaN or infinite.
        """
        A = self._kernels.velocity(t, q, v, self.p)[1]
        if not np.isfinite(A).all():
            row = self.manifold.rows[int(np.argwhere(~np.isfinite(A))[0, 0])]
            raise NotFiniteError(
                f"{self.manifold.robot.name}: the gradient of the natural constraint {row!r} is not finite at t = "
                f"{t:g} s, q = {np.array2string(q, precision=4)}"
            )
        self._lengths = np.maximum(self._lengths, np.linalg.norm(A, axis=1))
        return A / self.lengths[:, None]

    def update_lengths(self, t: float, q: Array, v: Array) -> None:
        """Update the usual lengths of the rows, which distinguish a vanishing row from one that is always short.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        for shift in AROUND * np.eye(len(q)):
            sides = [self._kernels.velocity(t, q + side * shift, v, self.p)[1] for side in (-1.0, 1.0)]
            lengths = np.min([np.linalg.norm(A, axis=1) for A in sides], axis=0)
            # The smaller of both sides, in case one of them is near a pole.
            self._lengths = np.maximum(self._lengths, np.where(np.isfinite(lengths), lengths, 0.0))

    def right_side(self, t: float, q: Array, v: Array) -> Array:
        """Return b of A a = b, scaled like the rows, shape (m,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return self._kernels.velocity(t, q, v, self.p)[2] / self.lengths

    def rows(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return A, shape (m, nv), and φ_q, shape (m₀, nq), unscaled.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return self._kernels.velocity(t, q, v, self.p)[1], self._kernels.position(t, q, self.p)[1]

    def tangents(self, t: float, q: Array, v: Array, chart: Chart) -> list[tuple[Array, Array]]:
        """Return the directions that A, and its holonomic rows alone, leave free in each part near a chart.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            chart: chart of the branch.
        """
        A, tangents = self.scaled_rows(t, q, v), list[tuple[Array, Array]]()
        for part, known in zip(self.manifold.parts, chart.each, strict=True):
            rows = A[np.ix_(part.rows, part.v)]
            tangent = position_tangent = known.free - _constrained_change(rows, known.free, rows @ known.free)
            if known.free_positions is not known.free:
                holonomic = rows[: part.holonomic]
                position_tangent = known.free_positions - _constrained_change(
                    holonomic, known.free_positions, holonomic @ known.free_positions
                )
            tangents.append((tangent, position_tangent))
        return tangents

    def rows_rate(self, t: float, q: Array, v: Array) -> Array:
        """Return dA/dt at a = 0, scaled like the rows, shape (m, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        rate = self._kernels.rate(t, q, v, self.p)
        return rate / self.lengths[:, None]

    def kinematic_matrix(self, t: float, q: Array) -> Array:
        """Return N of q̇ = N v, shape (nq, nv).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
        """
        return self._kernels.position(t, q, self.p)[2]

    def smallest_singular_value(self, t: float, q: Array, v: Array, chart: Chart, part: int) -> float:
        """Return the smallest of the r singular values of A in a part, r the rank of its chart: zero if A loses rank.

        Rows are scaled by their usual lengths, which are not updated, so that vanishing rows are detected, even if all
        vanish together.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            chart: chart along the branch.
            part: index of the part.
        """
        rank, own = chart.each[part].rank, self.manifold.parts[part]
        if rank == 0:
            return 1.0
        lengths = self.lengths[own.rows]
        if SMALL < len(own.rows) == rank:
            square = self._kernels.square(t, q, v, self.p)[np.ix_(own.rows, own.rows)]
            least = _least_root(square / lengths / lengths[:, None])
        else:
            A = self._kernels.velocity(t, q, v, self.p)[1][np.ix_(own.rows, own.v)] / lengths[:, None]
            if not np.isfinite(A).all():
                return 0.0
            values = np.linalg.svd(A, compute_uv=False)
            least = float(values[rank - 1] / max(1.0, values[0]))
        self.typical[part] = max(float(self.typical[part]), least)
        return least

    def solve(self, chart: Chart, t: float, q: Array, v: Array, part: int | None = None) -> BranchGeometry:
        """Solve for the state with the free coordinates and velocities of (q, v), where A has its full rank.

        Positions change along N₀W₀ and velocities along W only.

        Args:
            chart: directions of the step.
            t: time [s].
            q: coordinates near the branch, shape (nq,).
            v: velocities, shape (nv,).
            part: index of the part of the manifold to solve for; all if not given. Entries of other parts are unchanged
                in q and v, and zero in the other results.

        Raises:
            LostBranchError: if Newton's method does not converge, or the tangent has rotated too far.
            SingularProgramError: if rows contradict each other.
        """
        if part is None and chart.parts:
            return self.join(chart, q, v, [self.solve(chart, t, q, v, i) for i in range(len(chart.parts))])
        own = self.manifold.parts[part or 0]
        local = chart.each[part or 0]
        q = self._close(local, t, q, own)
        v, A, b = self._admit(local, t, q, v, own)
        lengths, m0 = self.lengths[own.rows], own.holonomic
        A, b = A / lengths[:, None], b / lengths
        found = _constrained_change(A, local.free, np.column_stack([A @ local.free, b]))
        turned = found[:, :-1]
        tangent = local.free - turned
        position_tangent = tangent
        if local.free_positions is not local.free:
            A0 = A[:m0]
            position_tangent = local.free_positions - _constrained_change(
                A0, local.free_positions, A0 @ local.free_positions
            )
        # Compare the largest row, not a norm over all: one crank of many that leaves its branch must be detected.
        if not _greatest(turned) <= STEEPEST * _greatest(local.free):
            raise LostBranchError(
                f"{self.manifold.robot.name} at t = {t:g} s: the free directions rotate by more than "
                f"{np.degrees(np.arctan(STEEPEST)):.0f} degrees within a step; use shorter steps"
            )
        return BranchGeometry(q, v, tangent, position_tangent, found[:, -1])

    def join(self, chart: Chart, q: Array, v: Array, parts: Sequence[BranchGeometry]) -> BranchGeometry:
        """Join the states of the parts.

        Args:
            chart: directions of the step.
            q: coordinates, used for entries that belong to no part, shape (nq,).
            v: velocities, used for entries that belong to no part, shape (nv,).
            parts: result of :meth:`solve` for each part.
        """
        q, v, bias_acceleration = q.copy(), v.copy(), np.zeros(len(v))
        tangent, position_tangent = np.zeros(chart.free.shape), np.zeros(chart.free_positions.shape)
        k = k0 = 0
        for part, own in zip(self.manifold.parts, parts, strict=True):
            q[part.q], v[part.v], bias_acceleration[part.v] = own.q[part.q], own.v[part.v], own.bias_acceleration
            tangent[part.v, k : (k := k + own.tangent.shape[1])] = own.tangent
            position_tangent[part.v, k0 : (k0 := k0 + own.position_tangent.shape[1])] = own.position_tangent
        return BranchGeometry(q, v, tangent, position_tangent, bias_acceleration)

    def _close(self, chart: Chart, t: float, q: Array, part: ManifoldPart) -> Array:
        """Solve for the positions of a part on the branch."""
        rows = part.rows[: part.holonomic]
        if len(rows) == 0:
            return q
        lengths, q = self.lengths[rows], q.copy()
        size, last = 1.0 + float(np.abs(q[part.q]).max()), False
        for _ in range(ITERATIONS):
            phi, slope, _ = self._kernels.position(t, q, self.p)
            phi, slope = phi[rows], slope[np.ix_(rows, part.q)] / lengths[:, None]
            change = _constrained_change(
                slope if chart.is_plain else slope @ chart.lift, chart.free_positions, phi / lengths
            )
            done = last and float(np.abs(phi / lengths).max()) <= MISFIT * size
            q[part.q] -= change if chart.is_plain else chart.lift @ change
            if done:
                return q
            last = float(np.abs(change).max(initial=0.0)) <= CLOSE * size
            if not np.isfinite(q).all():
                break
        misses = np.abs(self._kernels.position(t, q, self.p)[0][rows])
        worst = rows[int(np.argmax(np.where(np.isfinite(misses), misses, np.inf)))]
        raise LostBranchError(
            f"{self.manifold.robot.name} at t = {t:g} s: no position on the branch within the step; "
            f"{self.manifold.rows[worst]!r} misses by {np.max(misses):.3g}. Use shorter steps, or start where the "
            "natural constraints are satisfied and do not contradict each other"
        )

    def _admit(self, chart: Chart, t: float, q: Array, v: Array, part: ManifoldPart) -> tuple[Array, Array, Array]:
        """Solve for the admissible velocities of a part, and return them with A and b."""
        rows = part.rows
        if len(rows) == 0:
            return v, np.zeros((0, len(part.v))), np.zeros(0)
        lengths, v = self.lengths[rows], v.copy()
        size, last = 1.0 + float(np.abs(v[part.v]).max(initial=0.0)), False
        for _ in range(ITERATIONS):
            rho, A, b = self._kernels.velocity(t, q, v, self.p)
            rho, A, b = rho[rows], A[np.ix_(rows, part.v)], b[rows]
            if last and float(np.abs(rho / lengths).max()) <= MISFIT * size:
                return v, A, b
            change = _constrained_change(A / lengths[:, None], chart.free, rho / lengths)
            v[part.v] -= change
            last = float(np.abs(change).max(initial=0.0)) <= 1e-6 * size
            if not np.isfinite(v).all():
                break
        misses = np.abs(self._kernels.velocity(t, q, v, self.p)[0][rows])
        worst = rows[int(np.argmax(np.where(np.isfinite(misses), misses, np.inf)))]
        raise LostBranchError(
            f"{self.manifold.robot.name} at t = {t:g} s: no velocities near those of the step satisfy the natural "
            f"constraints; the rate of {self.manifold.rows[worst]!r} misses by {np.max(misses):.3g}. Use shorter "
            "steps, unless the constraints contradict each other"
        )


def _constrained_change(rows: Array, free: Array, right: Array) -> Array:
    """Return δ with A δ = r and Uᵀδ = 0, by least squares if rows are redundant."""
    (m, n), k = rows.shape, free.shape[1]
    if m + k == n:
        border = np.zeros((k, *right.shape[1:]))
        return solve_least_squares(np.concatenate([rows, free.T]), np.concatenate([right, border]))
    constrained = np.linalg.qr(free, mode="complete").Q[:, k:] if k else np.eye(n)
    return np.asarray(constrained @ solve_least_squares(rows @ constrained, right))


def _least_root(square: Array) -> float:
    """Return the smallest singular value of A from A Aᵀ, divided by a bound of the largest if that exceeds 1; or zero.

    It is accurate to a few digits, which is sufficient for comparison with a fraction of its usual value.
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
    """Return the greatest length of a row, which is invariant under rotations of the columns."""
    return float(np.sqrt(np.square(directions).sum(axis=1).max(initial=0.0)))
