"""The chart of an initial state; at a singular position its velocities select the branch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import SingularProgramError
from .branch import RANK_TOLERANCE, MotionBranch
from .chart import Chart
from .manifold import ManifoldPart
from .singular_positions import AT_REST

Array = NDArray[np.float64]

STILL = 1e-7
"""Dependent rows that turn more slowly than this with unit velocities stay dependent."""
CONTRADICTION = 1e-6
"""What dependent rows may ask of the accelerations, relative to the squared speed: more, and none has them."""
NEARLY = 1e-3
"""Share of the largest singular value of A below which velocities across a row mean that its direction is rounding."""
ACROSS = 0.01
"""Share of the speed that velocities on a branch cannot have across its rows."""
CURVED = 10.0
"""Accelerations across dependent rows that a branch may have, relative to the squared speed."""


def initial_chart(branch: MotionBranch, t: float, q: Array, v: Array) -> Chart:
    """The chart of a start, which may be a singular position.

    Along a branch with tangents G, A G = 0 and so Ȧ G + A Ġ = 0. Where rows of A depend on others, n its left null
    vectors with nᵀA = 0, that leaves nᵀȦ G = 0: [A; nᵀȦ] annuls the branch's tangents, and v, in Ȧ, chooses the branch.
    It is the row by which the next derivative, nᵀ d/dt(A a + Ȧ v) = 0, determines the accelerations. Rows that are
    dependent all along add nothing.

    Args:
        branch: of the robot.
        t: time [s].
        q: coordinates on the natural constraints, shape (nq,).
        v: velocities that they admit, shape (nv,).

    Raises:
        SingularProgramError: for a start at rest in a singular position, or along more than one branch, which does not
            tell how the motion goes on; or if dependent rows contradict one another.
        NotFiniteError: if A is NaN or infinite.
    """
    branch.look_around(t, q, v)
    A, N = branch.scaled_rows(t, q, v), branch.kinematic_matrix(t, q)
    charts = list[Chart]()
    for part in branch.manifold.parts:
        tangent = _tangent(branch, part, len(part.rows), A, t, q, v)
        whole = part.places == len(part.rows)
        place_tangent = tangent if whole else _tangent(branch, part, part.places, A, t, q, v)
        charts.append(Chart.along(tangent, place_tangent, N[np.ix_(part.q, part.v)]))
    chart = Chart.joined(charts, branch.manifold.parts)
    for i, part in enumerate(branch.manifold.parts):
        branch.nearness(t, q, v, chart, i)
        # A start near a singular position must not take the singular values there for the usual ones.
        for direction in charts[i].lift_free.T:
            for distance in (-0.3, -0.1, 0.1, 0.3):
                beside = q.copy()
                beside[part.q] += distance * direction / np.abs(direction).max()
                branch.nearness(t, beside, v, chart, i)
    return chart


def _tangent(branch: MotionBranch, part: ManifoldPart, m: int, A: Array, t: float, q: Array, v: Array) -> Array:
    """Directions along the branch that the first m rows of a part leave free."""
    if m == 0:
        return np.eye(len(part.v))
    block = np.ix_(part.rows[:m], part.v)
    U, values, Vt = np.linalg.svd(A[block])
    name, speed = branch.manifold.robot.name, float(np.linalg.norm(v[part.v]))
    # A state beside the branch, by no more than a loop is open, has a short row whose direction means nothing; the
    # velocities are across it, where those of a branch never are.
    across = np.abs(Vt[: len(values)] @ v[part.v]) > ACROSS * speed
    held = values > np.where(across, NEARLY, RANK_TOLERANCE) * max(1.0, values[0])
    rank = int(held.argmin()) if not held.all() else len(values)
    left, free = np.asarray(U[:, rank:]), np.asarray(Vt[rank:].T)
    if left.shape[1] == 0 or free.shape[1] == 0:
        return free
    asked = float(np.abs(left.T @ branch.right_side(t, q, v)[part.rows[:m]]).max())
    dropped = float(values[rank] / max(1.0, values[0])) if rank < len(values) else 0.0
    if asked > (CONTRADICTION + CURVED * dropped) * max(speed**2, 1.0):
        raise SingularProgramError(
            f"{name} is where rows of its natural constraints are dependent, and these ask for accelerations that "
            f"contradict one another by {asked:.3g}: its velocities are not along a branch of the motion, or the "
            "constraints cannot be met together. assemble_velocities at a place beside it finds velocities that fit"
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
            f"{name} is in a singular position, where branches of its motion meet, and "
            f"{'at rest' if speed <= AT_REST else 'its velocities are along more than one of them, which touch'}: they "
            f"tell {found} of the {expected} directions that a branch has less there. Give it velocities along one "
            "branch only, or a place beside the position"
        )
    return np.asarray(free @ directions[found:].T)


def _rank(rate: Array) -> int:
    values = np.linalg.svd(rate, compute_uv=False)
    return int((values > max(STILL, 1e-6 * float(values.max(initial=0.0)))).sum())


def _probes(free: Array) -> list[Array]:
    """A few unit velocities that the rows admit."""
    found: list[Array] = []
    for i in range(4):
        # Directions without symmetries, and always the same.
        numbers = np.arange(1.0, free.shape[1] + 1.0, dtype=np.float64)
        probe = np.asarray(np.cos(math.sqrt(2.0 + i) * numbers + i))
        found.append(free @ (probe / np.linalg.norm(probe)))
    return found
