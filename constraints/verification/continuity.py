"""Jumps of a field, and accelerations out of proportion to the lengths of the scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..field.probe import FieldProbe
from .field_report import Extreme, VelocityJump
from .sample_points import FieldRow, SamplePoints, SearchRegion

Array = NDArray[np.float64]

LINES, PLACES = 60, 80
"""Straight lines through space and time that are searched, of each kind, and points on each of them."""

SUSPECTED = 60
"""Steepest intervals that are halved, of each kind."""

HALVINGS = 40
NEAR = 1e-9
"""Share of the region within which a strongly changing field counts as jumping."""

NOTABLE = 0.01
"""Share of the median speed by which a velocity must change over no distance to count as a jump."""

APART = 0.05
"""Jumps nearer to each other than this, in units of the region, are reported as one [-]."""

CORNER = 1e-6
"""Share of the region within which a point counts as being at a corner of a boundary, where a normal may jump."""

ROOM = 0.02
"""Share of the region by which a point may lie outside of the hull of the path."""


def find_jumps(
    probe: FieldProbe, region: SearchRegion, near: SamplePoints, path: Array, rng: np.random.Generator
) -> tuple[tuple[VelocityJump, ...], SamplePoints]:
    """Return the jumps of the velocity outside of obstacles, and the points where it changes most without a jump.

    The field is searched along straight lines: through the region at an instant, across points of its curves, and
    through time at a point. Intervals in which it changes most, and much more than in their neighbours, are halved on
    the side of the larger change. The change of a continuous field then goes to zero with the interval.

    Args:
        probe: probe of the field.
        region: region and instants of the search.
        near: points of the curves.
        path: points of the path and of the motion of a point, shape (k, n) [m].
        rng: generator of the lines.
    """
    n, first, last = len(region.low), region.times.min(), region.times.max()
    starts, ends = (rng.uniform(region.low, region.high, (LINES, n)) for _ in range(2))
    at = np.resize(region.times, LINES)
    x, y, s, e = [starts], [ends], [at], [at]
    if len(near):
        pick = rng.integers(0, len(near), LINES)
        aside = rng.normal(size=(LINES, n))
        aside *= (0.05 * region.size / np.linalg.norm(aside, axis=1))[:, None]
        x, y = [*x, near.x[pick] - aside], [*y, near.x[pick] + aside]
        s, e = [*s, near.t[pick]], [*e, near.t[pick]]
    if last > first:
        still = rng.uniform(region.low, region.high, (LINES, n))
        x, y, s, e = [*x, still], [*y, still], [*s, np.full(LINES, first)], [*e, np.full(LINES, last)]
    share = np.linspace(0.0, 1.0, PLACES)[None, :, None]
    lines = np.concatenate([np.hstack([a, b[:, None]]) for a, b in zip(x, s, strict=True)])
    towards = np.concatenate([np.hstack([a, b[:, None]]) for a, b in zip(y, e, strict=True)])
    positions = lines[:, None] * (1 - share) + towards[:, None] * share
    w, free = _sample_velocities(probe, positions.reshape(-1, n + 1))
    w, free = w.reshape(*positions.shape[:2], n), free.reshape(positions.shape[:2])
    change = np.linalg.norm(np.diff(w, axis=1), axis=2)
    change[~(free[:, 1:] & free[:, :-1])] = 0.0
    around = np.pad(change, ((0, 0), (1, 1)))
    excess = change - np.maximum(around[:, 2:], around[:, :-2])
    speeds = np.linalg.norm(w[free], axis=1)
    least = NOTABLE * float(np.median(speeds)) if len(speeds) else 0.0
    chosen = {int(i) for key in (change, excess) for i in np.argsort(key, axis=None)[::-1][:SUSPECTED]}
    rows, columns = np.unravel_index(
        np.array(sorted(i for i in chosen if change.flat[i] > least), dtype=np.intp), change.shape
    )
    a, b = positions[rows, columns], positions[rows, columns + 1]
    wa, wb = w[rows, columns], w[rows, columns + 1]
    for _ in range(HALVINGS):
        wide = np.linalg.norm((b - a)[:, :n], axis=1) > NEAR * region.size
        wide |= np.abs(b - a)[:, n] > NEAR * max(last - first, 1e-300)
        alive = wide & (np.linalg.norm(wb - wa, axis=1) > least)
        if not alive.any():
            break
        middle = (a[alive] + b[alive]) / 2
        wm, whole = _sample_velocities(probe, middle)
        sooner = np.linalg.norm(wm - wa[alive], axis=1) >= np.linalg.norm(wb[alive] - wm, axis=1)
        keep = np.flatnonzero(alive)
        left, right = keep[sooner & whole], keep[~sooner & whole]
        b[left], wb[left] = middle[sooner & whole], wm[sooner & whole]
        a[right], wa[right] = middle[~sooner & whole], wm[~sooner & whole]
        wb[keep[~whole]] = wa[keep[~whole]]
    sizes = np.linalg.norm(wb - wa, axis=1)
    found: list[VelocityJump] = []
    for i in np.argsort(sizes)[::-1]:
        if not sizes[i] > least:
            break
        gaps = probe.flow.at(a[[i], :n], a[[i], n])["O"]
        if gaps.size and gaps.min() < CORNER * region.size:
            continue
        between = _between(a[i, :n], path, ROOM * region.size)
        one = VelocityJump(a[i, :n], float(a[i, n]), b[i, :n], float(b[i, n]), wa[i], wb[i], between)
        if all(np.linalg.norm(one.position - other.position) > APART * region.size for other in found):
            found.append(one)
    steep = a[sizes <= least]
    return tuple(found), SamplePoints(steep[:, :n], steep[:, n])


def smallest_scale(
    n: int, probe: FieldProbe, rows: tuple[FieldRow, ...], on: tuple[SamplePoints, ...]
) -> tuple[float, str]:
    """Return the smallest length within which a field has to turn, and its description.

    The margin, and the least radii of curvature of the program curve and of the boundaries, at points on them; corners,
    which have none, are left out.

    Args:
        n: dimension.
        probe: probe of the field.
        rows: its rows.
        on: points on each of them.
    """
    found = [(row.margin, "the margin") for row in rows if row.margin > 0.0]
    for row, positions in zip(rows, on, strict=True):
        if len(positions) and not row.corners:
            bends = level_curvatures(n, probe, row, positions)
            largest = float(bends[np.isfinite(bends)].max(initial=0.0))
            if largest > 0.0:
                found.append((1.0 / largest, f"the least radius of curvature of {row.name!r}"))
    return min(found, default=(float("inf"), ""))


def curvature_jumps(probe: FieldProbe, rows: tuple[FieldRow, ...], on: tuple[SamplePoints, ...]) -> dict[str, Extreme]:
    """Return where, and by how much, the curvature of each boundary that is C¹ and no smoother jumps, by its name.

    Args:
        probe: probe of the field.
        rows: its rows.
        on: points on each of them.
    """
    found: dict[str, Extreme] = {}
    for row, positions in zip(rows, on, strict=True):
        if row.program or row.smoothness != 1.0 or len(positions) < 2:
            continue
        first = positions.only(positions.t == positions.t[0])
        n = first.x.shape[1]
        bends = level_curvatures(n, probe, row, first)
        low, high = int(np.argmin(bends)), int(np.argmax(bends))
        a, b, t = first.x[low], first.x[high], first.t[:1]
        ka, kb = float(bends[low]), float(bends[high])
        for _ in range(60):
            middle = (a + b) / 2
            for _ in range(8):
                values = probe.rows.at(middle[None, :], t)
                slope = values["f_x"].reshape(-1, n)[row.indices[0]]
                middle = middle - values["f"].ravel()[row.indices[0]] * slope / max(float(slope @ slope), 1e-12)
            if min(np.linalg.norm(middle - a), np.linalg.norm(middle - b)) < 1e-10 * max(1.0, float(np.abs(a).max())):
                break
            k = float(level_curvatures(n, probe, row, SamplePoints(middle[None, :], t))[0])
            a, ka, b, kb = (a, ka, middle, k) if abs(k - ka) >= abs(kb - k) else (middle, k, b, kb)
        if abs(kb - ka) > 0.1 * float(bends.max()):
            found[row.name] = Extreme(abs(kb - ka), b, float(t[0]))
    return found


def level_curvatures(n: int, probe: FieldProbe, row: FieldRow, positions: SamplePoints) -> Array:
    """Largest curvature of the level lines or surfaces of a row's functions at points, shape (N,) [1/m].

    Args:
        n: dimension.
        probe: probe of the field.
        row: the row.
        positions: the points.
    """
    hessians = probe.curvature.at(positions.x, positions.t)["f_xx"].reshape(len(positions), -1, n, n)
    slopes = probe.rows.at(positions.x, positions.t)["f_x"].reshape(len(positions), -1, n)
    found = np.zeros(len(positions))
    for k in row.indices:
        size = np.maximum(np.linalg.norm(slopes[:, k], axis=1), 1e-300)
        normal = slopes[:, k] / size[:, None]
        across = np.eye(n) - normal[:, :, None] * normal[:, None, :]
        bent = across @ hessians[:, k] @ across / size[:, None, None]
        found = np.maximum(found, np.nan_to_num(np.linalg.norm(bent, axis=(1, 2))))
    return found


def turning_length(rows: tuple[FieldRow, ...], functions: Array, scale: float) -> Array:
    """Length within which a point has to turn, shape (N,) [m].

    The smallest scale; less in a notch between two barriers, and near one with corners, where it is the distance.

    Args:
        rows: rows of the field.
        functions: its functions at the points, shape (N, k).
        scale: smallest length of the scene [m].
    """
    room = np.full(len(functions), scale)
    barriers = [row for row in rows if not row.program]
    gaps = np.maximum(functions[:, [row.indices[0] for row in barriers]], 0.0)
    if len(barriers) > 1:
        room = np.minimum(room, np.sort(gaps, axis=1)[:, 1])
    for j, row in enumerate(barriers):
        room = np.minimum(room, gaps[:, j]) if row.corners else room
    return room


def _between(position: Array, path: Array, room: float) -> bool:
    """True if a point lies in the convex hull of others, or no farther outside of it than ``room``."""
    from scipy.optimize import nnls  # a tenth of a second to import

    if not len(path):
        return True
    # The nearest convex combination; the last row, with a large weight, makes the shares add up to one.
    offset = path - position
    weight = 1e3 * max(float(np.abs(offset).max()), room)
    shares, _ = nnls(np.vstack([offset.T, np.full(len(path), weight)]), np.append(np.zeros(len(position)), weight))
    return bool(np.linalg.norm(shares @ offset) <= room)


def _sample_velocities(probe: FieldProbe, positions: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Velocities at points with their times, shape (N, n + 1), and whether each is free and its numbers finite."""
    values = probe.flow.at(positions[:, :-1], positions[:, -1])
    w, gaps = values["w"], values["O"].reshape(len(positions), -1)
    free = np.asarray((gaps > 0.0).all(axis=1) & np.isfinite(w).all(axis=1), dtype=np.bool_)
    return np.where(free[:, None], w, 0.0), free
