"""The chart of an initial state; at a singular position the velocities select the branch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import SingularProgramError
from .branch import AT_REST, RANK_TOLERANCE, MotionBranch
from .chart import Chart
from .manifold import ManifoldPart

Array = NDArray[np.float64]

STILL = 1e-7
"""Rate of change of dependent rows at unit velocities below which they stay dependent."""
CONTRADICTION = 1e-6
"""Right side of dependent rows, relative to the squared speed, above which they contradict each other."""
NEARLY = 1e-3
"""Relative singular value of A below which, for velocities across a row, its direction is rounding error."""
ACROSS = 0.01
"""Velocity across rows, relative to the speed, that cannot occur on a branch."""
CURVED = 10.0
"""Largest acceleration across dependent rows on a branch, relative to the squared speed."""


def initial_chart(branch: MotionBranch, t: float, q: Array, v: Array) -> Chart:
    """Build the chart of an initial state, which may be a singular position.

    Along a branch with tangents G, A G = 0 and so Ȧ G + A Ġ = 0. Where rows of A depend on others, n its left null
    vectors with nᵀA = 0, this becomes nᵀȦ G = 0: [A; nᵀȦ] annihilates the branch's tangents, and v, in Ȧ, selects the
    branch. With this row the next derivative, nᵀ d/dt(A a + Ȧ v) = 0, determines the accelerations. Rows that are
    dependent everywhere add nothing.

    Args:
        branch: motion branch of the robot.
        t: time [s].
        q: coordinates on the natural constraints, shape (nq,).
        v: velocities that they admit, shape (nv,).

    Raises:
        SingularProgramError: for a start at rest in a singular position, or with velocities along more than one branch,
            so that the motion is not unique; or if dependent rows contradict each other.
        NotFiniteError: if A is NaN or infinite.
    """
    branch.update_lengths(t, q, v)
    A, N = branch.scaled_rows(t, q, v), branch.kinematic_matrix(t, q)
    charts = list[Chart]()
    for part in branch.manifold.parts:
        tangent = _tangent(branch, part, len(part.rows), A, t, q, v)
        whole = part.holonomic == len(part.rows)
        position_tangent = tangent if whole else _tangent(branch, part, part.holonomic, A, t, q, v)
        charts.append(Chart.along(tangent, position_tangent, N[np.ix_(part.q, part.v)]))
    chart = Chart.join(charts, branch.manifold.parts)
    for i, part in enumerate(branch.manifold.parts):
        branch.smallest_singular_value(t, q, v, chart, i)
        # Near a singular position the singular values at the start are not typical, so look farther away.
        for direction in charts[i].lift_free.T:
            for distance in (-0.3, -0.1, 0.1, 0.3):
                beside = q.copy()
                beside[part.q] += distance * direction / np.abs(direction).max()
                branch.smallest_singular_value(t, beside, v, chart, i)
    return chart


def _tangent(branch: MotionBranch, part: ManifoldPart, m: int, A: Array, t: float, q: Array, v: Array) -> Array:
    """Return the directions along the branch that the first m rows of a part leave free."""
    if m == 0:
        return np.eye(len(part.v))
    block = np.ix_(part.rows[:m], part.v)
    U, values, Vt = np.linalg.svd(A[block])
    name, speed = branch.manifold.robot.name, float(np.linalg.norm(v[part.v]))
    # A state slightly off the branch, by a loop that is not quite closed, has a short row without a meaningful
    # direction; the velocities are across it, which never occurs on a branch.
    across = np.abs(Vt[: len(values)] @ v[part.v]) > ACROSS * speed
    significant = values > np.where(across, NEARLY, RANK_TOLERANCE) * max(1.0, values[0])
    rank = int(significant.argmin()) if not significant.all() else len(values)
    left, free = np.asarray(U[:, rank:]), np.asarray(Vt[rank:].T)
    if left.shape[1] == 0 or free.shape[1] == 0:
        return free
    mismatch = float(np.abs(left.T @ branch.right_side(t, q, v)[part.rows[:m]]).max())
    dropped = float(values[rank] / max(1.0, values[0])) if rank < len(values) else 0.0
    if mismatch > (CONTRADICTION + CURVED * dropped) * max(speed**2, 1.0):
        raise SingularProgramError(
            f"{name} is at a position with dependent natural constraints, which require contradictory accelerations "
            f"(mismatch {mismatch:.3g}): the velocities are not along a branch of the motion, or the constraints "
            "contradict each other. assemble_velocities at a nearby position finds consistent velocities"
        )
    still = branch.rows_rate(t, q, np.zeros_like(v))[block]
    expected = 0
    for probe in _probes(free):
        moved = np.zeros_like(v)
        moved[part.v] = probe
        expected = max(expected, _rank(left.T @ (branch.rows_rate(t, q, moved)[block] - still) @ free))
    _, turning, directions = np.linalg.svd(left.T @ branch.rows_rate(t, q, v)[block] @ free)
    found = int((turning > 1e-6 * speed).sum()) if speed > AT_REST else 0
    if found < expected:
        raise SingularProgramError(
            f"{name} is at a singular position, where branches of its motion meet, and "
            f"{'at rest' if speed <= AT_REST else 'its velocities are along several branches that touch'}: the "
            f"velocities determine {found} of the {expected} directions that a branch excludes there. Start with "
            "velocities along one branch only, or from a nearby position"
        )
    return np.asarray(free @ directions[found:].T)


def _rank(rate: Array) -> int:
    values = np.linalg.svd(rate, compute_uv=False)
    return int((values > max(STILL, 1e-6 * float(values.max(initial=0.0)))).sum())


def _probes(free: Array) -> list[Array]:
    """Return a few unit velocities that the rows admit."""
    probes: list[Array] = []
    for i in range(4):
        # Fixed directions without symmetries.
        numbers = np.arange(1.0, free.shape[1] + 1.0, dtype=np.float64)
        probe = np.asarray(np.cos(math.sqrt(2.0 + i) * numbers + i))
        probes.append(free @ (probe / np.linalg.norm(probe)))
    return probes
