"""Continuation of a branch through singular positions, by interpolation between positions on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .branch import BranchGeometry, LostBranchError, MotionBranch
from .chart import Chart

Array = NDArray[np.float64]

ZONE = 0.03
"""A is nearly singular where its smallest singular value is below this share of its usual one.

On a branch that crosses another, at a distance s from the crossing, the tangent comes out with an error of 1e-16/s² and
γ with 1e-16/s³; interpolation of tenth order over nodes at the distance s has one of s¹⁰. Here the two meet."""
WIDE_SPACINGS = (0.2, 0.1, 0.05)
"""Spacings of nodes farther away, whose rounding is less: an error of 1e-16/s³ in γ falls fast with the distance s."""
NODES = 6
"""Nodes on either side, of which those nearest to the singular position may be left out."""
NEEDED_NODES = 10
"""Nodes that are needed."""
CLEAR = 1e-4
"""Share of the usual singular value that is enough for the directions of a chart, which may be anywhere nearby."""
REACH = 2.0**-10
"""First spacing of the nodes that is tried; more by half up to 256 times as much.

One is the distance over which a row at its usual length changes by one, so that units do not matter, nor how many
coordinates there are."""
SHORT = 1e-5
"""Distance over which that change is looked at, beside the greatest coordinate."""
LONGEST = 1e6
"""Limit of it where rows hardly change."""
BESIDE = 0.01
"""Change of a coordinate to either side over which the smallest singular value changes if a crossing is near."""
STEADY = 0.05
"""Its relative change there: less, and no crossing is near."""
JUMP = 0.02
"""Disagreement of coarse and fine interpolation, relative to the spacing, above which nodes are on two branches."""
AT_REST = 1e-12
"""Speeds below this cannot tell two branches apart."""


def branch_geometry(
    branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, *, sharp: bool = False
) -> BranchGeometry:
    """The state of the branch with the free coordinates and velocities of (q, v), singular positions included.

    Along a branch q, v, the tangent G and the bias acceleration γ are smooth functions of the free coordinates; only
    the formulas for them are 0/0 where another branch crosses. There they are interpolated, at the same time and the
    same free velocities, from places of the branch to both sides.

    Args:
        branch: that the motion is on.
        chart: directions of the step.
        t: time [s].
        q: coordinates near the branch, shape (nq,).
        v: velocities, shape (nv,).
        sharp: whether tangent and bias acceleration matter more than q and v, as for the forces of one state, rather
            than the places of a motion: of several spacings of the nodes the one with the least error in them is taken.

    Raises:
        LostBranchError: if the nodes are not found, or not on one branch.
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
    return branch.joined(chart, q, v, found)


def _interpolated_part(
    branch: MotionBranch, chart: Chart, part: int, t: float, q: Array, v: Array, sharp: bool
) -> BranchGeometry:
    """The state of a part of the branch, interpolated across a singular position of its own."""
    if not sharp:
        return _interpolation(branch, chart, part, 0.0, t, q, v)[1]
    found, lost = list[tuple[float, BranchGeometry]](), LostBranchError()
    for wide in (*WIDE_SPACINGS, 0.0):
        try:
            found.append(_interpolation(branch, chart, part, wide, t, q, v))
        except LostBranchError as error:
            lost = error
    if not found:
        raise lost
    return min(found, key=lambda each: each[0])[1]


def _interpolation(
    branch: MotionBranch, chart: Chart, part: int, wide: float, t: float, q: Array, v: Array
) -> tuple[float, BranchGeometry]:
    """The state by interpolation, and what the outermost nodes change in its tangent and bias acceleration."""
    direction, distances = _nodes(branch, chart, part, wide, t, q, v)
    found: dict[float, BranchGeometry] = {}
    for sign in (1.0, -1.0):
        # Outwards, each node from the one before it: near the crossing two branches are close.
        place, reached = q, 0.0
        for distance in sorted(float(sign * s) for s in distances if sign * s > 0.0):
            try:
                here = branch.solve(chart, t, place + sign * (distance - reached) * direction, v, part)
            except LostBranchError as error:
                raise LostBranchError(
                    f"near a singular position where branches touch, end or turn too fast to be told apart: {error}"
                ) from error
            found[sign * distance], place, reached = here, here.q, distance
    nodes = np.array(sorted(found))
    parts = [found[float(s)] for s in nodes]
    # By the coordinate that moves most: one of many that is on another branch counts.
    spacing, length = float(np.abs(nodes).min()), float(np.abs(direction).max())
    greatest = float(np.abs(chart.each[part].free).max(initial=0.0))
    coarse = np.zeros(len(nodes))
    coarse[::2] = interpolation_weights(nodes[::2])
    fine = interpolation_weights(nodes)
    places, tangents = np.array([g.q for g in parts]) / length, np.array([g.tangent for g in parts]) / greatest
    for values in (places, spacing * tangents):
        apart = float(np.abs(np.tensordot(fine - coarse, values, 1)).max(initial=0.0))
        if not apart <= JUMP * spacing:
            raise LostBranchError(
                f"{branch.manifold.robot.name} at t = {t:g} s is near a singular position, and places to both sides of "
                f"it do not continue one another: {apart:.2g} apart at a spacing of {spacing:.2g}. Take shorter steps"
            )
    rest = fine.copy()
    rest[1:-1] -= interpolation_weights(nodes[1:-1])
    biases = np.array([g.bias_acceleration for g in parts])
    size = 1.0 + float(np.abs(biases).max(initial=0.0))
    turned = float(np.abs(np.tensordot(rest, tangents, 1)).max(initial=0.0))
    return max(turned, float(np.abs(np.tensordot(rest, biases, 1)).max(initial=0.0)) / size), BranchGeometry(
        *(
            np.tensordot(fine, np.array([getattr(g, name) for g in parts]), 1)
            for name in ("q", "v", "tangent", "place_tangent", "bias_acceleration")
        )
    )


def is_near_singularity(branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, zone: float = ZONE) -> bool:
    """Whether a singular position is so near that the branch is interpolated across it.

    Rows may be short only because they have been much longer before. Down to a tenth of the zone this is told by their
    length beside, which does not change.

    Args:
        branch: that the motion is on.
        chart: of the step.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        zone: share of the usual singular value below which it is looked for.
    """
    return bool(_near_parts(branch, chart, t, q, v, zone))


def _near_parts(branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, zone: float) -> list[int]:
    """Parts of the manifold that are near a singular position of their own."""
    found = list[int]()
    for i in range(len(branch.manifold.parts)):
        here, usual = branch.nearness(t, q, v, chart, i), branch.typical[i]
        if here > zone * usual:
            continue
        ways = [side * away for away in _directions(branch, chart, i, t, q, v) for side in (-1.0, 1.0)]
        shifts = (BESIDE * way / np.abs(way).max() for way in ways)
        if here < zone / 10 * usual or any(
            abs(branch.nearness(t, q + shift, v, chart, i) - here) >= STEADY * here for shift in shifts
        ):
            found.append(i)
    return found


def next_chart(
    branch: MotionBranch, chart: Chart, t: float, q: Array, v: Array, found: BranchGeometry | None = None
) -> Chart:
    """The chart of a state that was reached, with its bases turned towards those before; dimensions stay.

    Args:
        branch: that the motion is on.
        chart: of the steps that led here.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        found: the geometry there, if it is known.
    """
    parts, N = branch.manifold.parts, branch.kinematic_matrix(t, q)
    clear = found is None and all(
        branch.nearness(t, q, v, chart, i) > CLEAR * branch.typical[i] for i in range(len(parts))
    )
    if clear:
        tangents = branch.tangents(t, q, v, chart)
    else:
        here = branch_geometry(branch, chart, t, q, v) if found is None else found
        tangents, k, k0 = list[tuple[Array, Array]](), 0, 0
        for part, own in zip(parts, chart.each, strict=True):
            tangent = here.tangent[part.v, k : (k := k + own.free.shape[1])]
            place_tangent = here.place_tangent[part.v, k0 : (k0 := k0 + own.free_places.shape[1])]
            tangents.append((tangent, tangent if own.free_places is own.free else place_tangent))
    charts = [
        Chart.along(*pair, N[np.ix_(part.q, part.v)], own)
        for pair, part, own in zip(tangents, parts, chart.each, strict=True)
    ]
    return Chart.joined(charts, parts)


def interpolation_weights(nodes: Array) -> Array:
    """Lagrange's coefficients for the value at zero of the polynomial through values at the nodes.

    Args:
        nodes: different numbers, none of them zero, shape (k,).
    """
    differences = nodes[None, :] - nodes[:, None]
    np.fill_diagonal(differences, nodes)
    return np.asarray(np.prod(nodes) / np.prod(differences, axis=1))


def _nodes(
    branch: MotionBranch, chart: Chart, part: int, wide: float, t: float, q: Array, v: Array
) -> tuple[Array, Array]:
    """A direction of q that leads away from the singular position of a part, and distances along it."""
    directions = _directions(branch, chart, part, t, q, v)
    numbers = np.array([side * i for i in range(1, NODES + 1) for side in (-1.0, 1.0)])
    # Stages of one crossing need much the same spacing.
    spacing = wide or max(REACH, float(branch.spacing[part]) / 1.5)
    while spacing <= 256 * REACH:
        for direction in directions:
            distances = (spacing * numbers).tolist()
            kept = list[float]()
            # The nearest first: most spacings that are too short are known by them.
            for tried, distance in enumerate(distances, 1):
                if branch.nearness(t, q + distance * direction, v, chart, part) > ZONE * branch.typical[part]:
                    kept.append(distance)
                elif tried - len(kept) > len(distances) - NEEDED_NODES:
                    break
            if len(kept) >= NEEDED_NODES and 4 <= sum(s > 0.0 for s in kept) <= len(kept) - 4:
                if not wide:
                    branch.spacing[part] = spacing
                return direction, np.array(kept)
        if wide:
            break
        spacing *= 1.5
    reach = 256 * REACH * NODES * float(np.abs(directions[0]).max())
    raise LostBranchError(
        f"{branch.manifold.robot.name} at t = {t:g} s: the natural constraints are nearly dependent here and "
        f"{reach:.2g} to either side, so that no branch can be told"
    )


def _directions(branch: MotionBranch, chart: Chart, part: int, t: float, q: Array, v: Array) -> list[Array]:
    """Changes of q that may lead a part away from its singular position, its own motion first, of unit length.

    The unit is where the row that changes most has changed by one, at its usual length; how many others there are does
    not matter.
    """
    own, local = branch.manifold.parts[part], chart.each[part]
    k0 = local.free_places.shape[1]
    along = local.free_places.T @ v[own.v]
    speed = float(np.linalg.norm(along))
    choices = [along / speed] if speed > AT_REST else []
    choices += list(np.eye(k0)) if k0 > 1 or not choices else []
    short = SHORT * (1.0 + float(np.abs(q[own.q]).max()))
    here, found = branch.rows(t, q, v)[0], list[Array]()
    for choice in choices:
        away = np.zeros_like(q)
        away[own.q] = local.lift_free @ choice
        away /= np.abs(away).max()
        rates = (branch.rows(t, q + short * away, v)[0] - here)[own.rows] / branch.lengths[own.rows, None]
        change = float(np.linalg.norm(rates, axis=1).max(initial=0.0))
        found.append(away * min(short / change, LONGEST) if change > 0.0 else away)
    return found
