"""Continuation of a branch through singular positions, by interpolation between positions on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .branch import AT_REST, BranchGeometry, LostBranchError, MotionBranch
from .chart import Chart

Array = NDArray[np.float64]

ZONE = 0.03
"""Smallest singular value of A, relative to its usual value, below which A is nearly singular.

On a branch that crosses another, at a distance s from the crossing, the rounding error of the tangent is 1e-16/s² and
that of γ 1e-16/s³; interpolation of tenth order over nodes at the distance s has the error s¹⁰. Here both are equal."""
WIDE_SPACINGS = (0.2, 0.1, 0.05)
"""Wider spacings of nodes, with smaller rounding errors: the error 1e-16/s³ of γ falls fast with the distance s."""
NODES = 6
"""Number of nodes on either side, of which those nearest to the singular position may be omitted."""
NEEDED_NODES = 10
"""Least number of nodes."""
CLEAR = 1e-4
"""Smallest singular value, relative to its usual value, that is sufficient for the directions of a chart."""
REACH = 2.0**-10
"""First spacing of the nodes; increased by half up to 256 times this value.

The unit is the distance over which a row of usual length changes by one, so that neither physical units nor the number
of coordinates matter."""
SHORT = 1e-5
"""Distance over which that change is measured, relative to the greatest coordinate."""
LONGEST = 1e6
"""Upper bound of the unit, for rows that hardly change."""
BESIDE = 0.01
"""Change of a coordinate to either side over which the smallest singular value changes if a crossing is near."""
STEADY = 0.05
"""Relative change of the smallest singular value below which no crossing is near."""
JUMP = 0.02
"""Difference of coarse and fine interpolation, relative to the spacing, above which nodes are on two branches."""


def branch_geometry(
    branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, *, sharp: bool = False
) -> BranchGeometry:
    """Solve for the state with the free coordinates and velocities of (q, v), including singular positions.

    Along a branch q, v, the tangent G and the bias acceleration γ are smooth functions of the free coordinates, but
    their formulas are 0/0 where another branch crosses. There they are interpolated, at the same time and the same free
    velocities, from states of the branch on both sides.

    Args:
        branch: branch of the motion.
        chart: directions of the step.
        t: time [s].
        q: coordinates near the branch, shape (nq,).
        v: velocities, shape (nv,).
        sharp: True to select, among several spacings of the nodes, the one with the least error in tangent and bias
            acceleration, as for the forces of one state; False for the states of a motion.

    Raises:
        LostBranchError: if the nodes are not found, or are on different branches.
    """
    near = _near_parts(branch, chart, t, q, v, ZONE)
    if not near:
        return branch.solve(chart, t, q, v)
    if not chart.parts:
        return _interpolated_part(branch, chart, 0, t, q, v, sharp)
    found = [
        _interpolated_part(branch, chart, i, t, q, v, sharp) if i in near else branch.solve(chart, t, q, v, i)
        for i in range(len(chart.parts))
    ]
    return branch.join(chart, q, v, found)


def _interpolated_part(
    branch: MotionBranch, chart: Chart, part: int, t: float, q: Array, v: Array, sharp: bool
) -> BranchGeometry:
    """Interpolate the state of a part of the branch across its singular position."""
    if not sharp:
        return _interpolation(branch, chart, part, 0.0, t, q, v)[1]
    candidates, lost = list[tuple[float, BranchGeometry]](), LostBranchError()
    for wide in (*WIDE_SPACINGS, 0.0):
        try:
            candidates.append(_interpolation(branch, chart, part, wide, t, q, v))
        except LostBranchError as error:
            lost = error
    if not candidates:
        raise lost
    return min(candidates, key=lambda each: each[0])[1]


def _interpolation(
    branch: MotionBranch, chart: Chart, part: int, wide: float, t: float, q: Array, v: Array
) -> tuple[float, BranchGeometry]:
    """Interpolate the state, and estimate its error by the effect of the outermost nodes on tangent and bias."""
    direction, distances = _nodes(branch, chart, part, wide, t, q, v)
    found: dict[float, BranchGeometry] = {}
    for sign in (1.0, -1.0):
        # Outwards, each node from the previous one, because near the crossing two branches are close.
        previous, reached = q, 0.0
        for distance in sorted(float(sign * s) for s in distances if sign * s > 0.0):
            try:
                node = branch.solve(chart, t, previous + sign * (distance - reached) * direction, v, part)
            except LostBranchError as error:
                raise LostBranchError(
                    f"near a singular position where branches touch, end or turn too fast to be separated: {error}"
                ) from error
            found[sign * distance], previous, reached = node, node.q, distance
    nodes = np.array(sorted(found))
    parts = [found[float(s)] for s in nodes]
    # Compare the largest entry, not a norm over all: one coordinate of many on another branch must be detected.
    spacing, length = float(np.abs(nodes).min()), float(np.abs(direction).max())
    greatest = float(np.abs(chart.each[part].free).max(initial=0.0))
    coarse = np.zeros(len(nodes))
    coarse[::2] = interpolation_weights(nodes[::2])
    fine = interpolation_weights(nodes)
    positions, tangents = np.array([g.q for g in parts]) / length, np.array([g.tangent for g in parts]) / greatest
    for values in (positions, spacing * tangents):
        apart = float(np.abs(np.tensordot(fine - coarse, values, 1)).max(initial=0.0))
        if not apart <= JUMP * spacing:
            raise LostBranchError(
                f"{branch.manifold.robot.name} at t = {t:g} s is near a singular position, and the positions on both "
                f"sides do not form one branch: they differ by {apart:.2g} at a spacing of {spacing:.2g}. Use shorter "
                "steps"
            )
    rest = fine.copy()
    rest[1:-1] -= interpolation_weights(nodes[1:-1])
    biases = np.array([g.bias_acceleration for g in parts])
    size = 1.0 + float(np.abs(biases).max(initial=0.0))
    turned = float(np.abs(np.tensordot(rest, tangents, 1)).max(initial=0.0))
    return max(turned, float(np.abs(np.tensordot(rest, biases, 1)).max(initial=0.0)) / size), BranchGeometry(
        *(
            np.tensordot(fine, np.array([getattr(g, name) for g in parts]), 1)
            for name in ("q", "v", "tangent", "position_tangent", "bias_acceleration")
        )
    )


def is_near_singularity(branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, zone: float = ZONE) -> bool:
    """True if a singular position is so near that the branch is interpolated across it.

    Rows may also be short because they were much longer before. Down to a tenth of the zone this is detected by their
    length nearby, which then does not change.

    Args:
        branch: branch of the motion.
        chart: chart of the step.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        zone: smallest singular value, relative to its usual value, below which a singular position is near.
    """
    return bool(_near_parts(branch, chart, t, q, v, zone))


def _near_parts(branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, zone: float) -> list[int]:
    """Return the parts of the manifold that are near a singular position."""
    near = list[int]()
    for i in range(len(branch.manifold.parts)):
        least, usual = branch.smallest_singular_value(t, q, v, chart, i), branch.typical[i]
        if least > zone * usual:
            continue
        directions = [side * away for away in _directions(branch, chart, i, t, q, v) for side in (-1.0, 1.0)]
        shifts = (BESIDE * direction / np.abs(direction).max() for direction in directions)
        if least < zone / 10 * usual or any(
            abs(branch.smallest_singular_value(t, q + shift, v, chart, i) - least) >= STEADY * least for shift in shifts
        ):
            near.append(i)
    return near


def next_chart(
    branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, found: BranchGeometry | None = None
) -> Chart:
    """Build the chart of the next state, with bases aligned to those of the previous chart and equal dimensions.

    Args:
        branch: branch of the motion.
        chart: chart of the previous steps.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        found: geometry of the branch at this state, if known.
    """
    parts, N = branch.manifold.parts, branch.kinematic_matrix(t, q)
    clear = found is None and all(
        branch.smallest_singular_value(t, q, v, chart, i) > CLEAR * branch.typical[i] for i in range(len(parts))
    )
    if clear:
        tangents = branch.tangents(t, q, v, chart)
    else:
        geometry = branch_geometry(branch, chart, t, q, v) if found is None else found
        tangents, k, k0 = list[tuple[Array, Array]](), 0, 0
        for part, own in zip(parts, chart.each, strict=True):
            tangent = geometry.tangent[part.v, k : (k := k + own.free.shape[1])]
            position_tangent = geometry.position_tangent[part.v, k0 : (k0 := k0 + own.free_positions.shape[1])]
            tangents.append((tangent, tangent if own.free_positions is own.free else position_tangent))
    charts = [
        Chart.along(*pair, N[np.ix_(part.q, part.v)], own)
        for pair, part, own in zip(tangents, parts, chart.each, strict=True)
    ]
    return Chart.join(charts, parts)


def interpolation_weights(nodes: Array) -> Array:
    """Return Lagrange's coefficients for the value at zero of the polynomial through values at the nodes.

    Args:
        nodes: distinct nonzero numbers, shape (k,).
    """
    differences = nodes[None, :] - nodes[:, None]
    np.fill_diagonal(differences, nodes)
    return np.asarray(np.prod(nodes) / np.prod(differences, axis=1))


def _nodes(
    branch: MotionBranch, chart: Chart, part: int, wide: float, t: float, q: Array, v: Array
) -> tuple[Array, Array]:
    """Find a direction of q that leads away from the singular position of a part, and distances along it."""
    directions = _directions(branch, chart, part, t, q, v)
    numbers = np.array([side * i for i in range(1, NODES + 1) for side in (-1.0, 1.0)])
    # The stages of one crossing need similar spacings.
    spacing = wide or max(REACH, float(branch.spacing[part]) / 1.5)
    while spacing <= 256 * REACH:
        for direction in directions:
            distances = (spacing * numbers).tolist()
            usable = list[float]()
            # The nearest first: most spacings that are too short fail there.
            for tried, distance in enumerate(distances, 1):
                least = branch.smallest_singular_value(t, q + distance * direction, v, chart, part)
                if least > ZONE * branch.typical[part]:
                    usable.append(distance)
                elif tried - len(usable) > len(distances) - NEEDED_NODES:
                    break
            if len(usable) >= NEEDED_NODES and 4 <= sum(s > 0.0 for s in usable) <= len(usable) - 4:
                if not wide:
                    branch.spacing[part] = spacing
                return direction, np.array(usable)
        if wide:
            break
        spacing *= 1.5
    reach = 256 * REACH * NODES * float(np.abs(directions[0]).max())
    raise LostBranchError(
        f"{branch.manifold.robot.name} at t = {t:g} s: the natural constraints are nearly dependent at this position "
        f"and within {reach:.2g} to either side, so that no branch can be determined"
    )


def _directions(branch: MotionBranch, chart: Chart, part: int, t: float, q: Array, v: Array) -> list[Array]:
    """Return unit directions of q that may lead a part away from its singular position, its own motion first.

    The unit is the distance at which the row that changes most, scaled by its usual length, has changed by one; it does
    not depend on the number of rows.
    """
    own, local = branch.manifold.parts[part], chart.each[part]
    k0 = local.free_positions.shape[1]
    along = local.free_positions.T @ v[own.v]
    speed = float(np.linalg.norm(along))
    choices = [along / speed] if speed > AT_REST else []
    choices += list(np.eye(k0)) if k0 > 1 or not choices else []
    short = SHORT * (1.0 + float(np.abs(q[own.q]).max()))
    reference, directions = branch.rows(t, q, v)[0], list[Array]()
    for choice in choices:
        away = np.zeros_like(q)
        away[own.q] = local.lift_free @ choice
        away /= np.abs(away).max()
        rates = (branch.rows(t, q + short * away, v)[0] - reference)[own.rows] / branch.lengths[own.rows, None]
        change = float(np.linalg.norm(rates, axis=1).max(initial=0.0))
        directions.append(away * min(short / change, LONGEST) if change > 0.0 else away)
    return directions
