"""Verification of a field at many points: whether its curves are integral curves, and what a moving point meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import positive, reals, require_memory, vector
from ..field.erugin_field import EruginField
from ..field.feasibility import BarrierSpeed, barrier_speeds
from ..field.preview import Preview, PreviewSetup
from ..field.probe import FieldProbe, VelocityField
from .continuity import curvature_jumps, find_jumps, level_curvatures, smallest_scale, turning_length
from .critical_points import find_critical_points, find_stagnation_points
from .field_report import FLAT, Approach, Extreme, FieldReport, RowReport, diagnose, format_point
from .sample_points import (
    FieldRow,
    SamplePoints,
    SearchRegion,
    default_region,
    field_rows,
    find_points_on,
    least_norm_step,
    newton_search,
)

Array = NDArray[np.float64]


def find_extreme(values: Array, positions: SamplePoints, *, least: bool = False) -> Extreme:
    """Return the largest finite value with its position and time, or the smallest; NaN if no value is finite.

    Args:
        values: shape (N,).
        positions: points of the values.
        least: True for the smallest.
    """
    number = np.where(np.isfinite(values), values, np.inf if least else -np.inf)
    if not np.isfinite(number).any():
        return Extreme(float("nan"), np.nan * np.ones(positions.x.shape[1]), float("nan"))
    i = int(np.argmin(number) if least else np.argmax(number))
    return Extreme(float(values[i]), positions.x[i].copy(), float(positions.t[i]))


def examine_row(
    probe: FieldProbe,
    row: FieldRow,
    rows: tuple[FieldRow, ...],
    region: SearchRegion,
    starts: SamplePoints,
    *,
    offsets: tuple[float, ...],
    tolerance: float,
    rng: np.random.Generator,
) -> tuple[RowReport, SamplePoints]:
    """Examine one row at many of its points; return these too, if they are free and have a gradient.

    Args:
        probe: probe of the field.
        row: the row.
        rows: all rows of the field.
        region: region of the search.
        starts: starts of the searches for points on the row.
        offsets: distances from it at which the approach is measured [m].
        tolerance: largest |df_i/dt| that counts as zero [m/s].
        rng: generator of directions, in three and more dimensions.
    """
    found = find_points_on(probe, row, region, starts)
    others = [other.indices[0] for other in rows if not other.program and other is not row]
    nearest = 0.999999 * row.margin
    hidden = np.asarray((probe.rows.at(found.x, found.t)["f"][:, others] < nearest).any(axis=1))
    if row.program:
        hidden |= _pressed(probe, found.x, found.t)
    visible, covered = found.only(~hidden), found.only(hidden)
    drift, slope = _drift(probe, row, visible)
    hidden_drift = _drift(probe, row, covered)[0]
    # NaN must not count as small.
    drift = np.where(np.isfinite(drift), drift, np.inf)
    worst = int(np.argmax(drift)) if len(drift) else -1
    largest = (
        Extreme(float(drift[worst]), visible.x[worst].copy(), float(visible.t[worst]))
        if len(drift)
        else find_extreme(drift, visible)
    )
    report = RowReport(
        name=row.name,
        role=row.role,
        points=len(visible),
        drift=largest,
        faulty=int((drift > tolerance).sum()),
        covered=len(covered),
        covered_drift=float(hidden_drift.max()) if len(covered) else float("nan"),
        slope=find_extreme(slope, visible, least=True),
        zero_gradient=_flat_points(probe, row, region, starts),
        approaches=_approaches(probe, row, visible, offsets, rng),
    )
    # At a corner of a boundary there are no derivatives.
    return report, visible.only(slope > FLAT)


def _pressed(probe: FieldProbe, x: Array, t: Array) -> NDArray[np.bool_]:
    """True where a barrier takes something from the motion along the program curve."""
    return np.asarray(probe.flow.at(x, t)["pressing"][:, 0] > 0.0)


def _drift(probe: FieldProbe, row: FieldRow, positions: SamplePoints) -> tuple[Array, Array]:
    """Norm of df_i/dt = ∇f_i·w + f_i,t, and the smallest singular value of ∂f/∂x, at each point."""
    chosen = list(row.indices)
    values, w = probe.rows.at(positions.x, positions.t), probe.motion.at(positions.x, positions.t)["w"]
    slope = values["f_x"][:, chosen]
    rate = np.einsum("Nij,Nj->Ni", slope, w) + values["f_t"][:, chosen]
    finite = np.isfinite(slope).all(axis=(1, 2))
    least = np.full(len(positions), np.nan)
    least[finite] = np.linalg.svd(slope[finite], compute_uv=False).min(axis=1, initial=np.inf)
    return np.abs(rate).max(axis=1, initial=0.0), least


def _flat_points(probe: FieldProbe, row: FieldRow, region: SearchRegion, starts: SamplePoints) -> Array:
    """Points where a function of the row and its gradient vanish together, by Gauss–Newton steps on (f, ∇f)."""
    n = region.low.size
    found: list[Array] = []
    for index in row.indices:

        def evaluate(x: Array, t: Array, i: int = index) -> tuple[Array, Array]:
            values, curvature = probe.rows.at(x, t), probe.curvature.at(x, t)["f_xx"]
            f, slope = values["f"][:, i], values["f_x"][:, i]
            r = np.concatenate([f[:, None] / region.size, slope], axis=1)
            return r, np.concatenate([slope[:, None, :] / region.size, curvature[:, n * i : n * (i + 1)]], axis=1)

        x, settled = newton_search(evaluate, starts.x, starts.t, longest=0.05 * region.size)
        ends = SamplePoints(x, starts.t).only(settled & region.holds(x))
        flat = ends.only(np.abs(evaluate(ends.x, ends.t)[0]).max(axis=1, initial=0.0) < FLAT)
        for position, time in zip(flat.x, flat.t, strict=True):
            if not any(one[-1] == time and np.linalg.norm(one[:-1] - position) < 1e-4 * region.size for one in found):
                found.append(np.append(position, time))
    return np.array(found).reshape(-1, n + 1)


def _approaches(
    probe: FieldProbe, row: FieldRow, on: SamplePoints, offsets: tuple[float, ...], rng: np.random.Generator
) -> tuple[Approach, ...]:
    """d ln|f_i|/dt beside the row: of a single function on either side, of several in random directions."""
    chosen = list(row.indices)
    slope = probe.rows.at(on.x, on.t)["f_x"][:, chosen]
    single = len(chosen) == 1
    course = np.ones((len(on), 1)) if single else rng.normal(size=(len(on), len(chosen)))
    aside = least_norm_step(slope, course)
    aside /= np.maximum(np.linalg.norm(aside, axis=1), 1e-300)[:, None]
    found: list[Approach] = []
    for offset in (d * side for side in ((1, -1) if single else (1,)) for d in offsets):
        x, t = on.x + offset * aside, on.t
        if row.program:
            free = ~_pressed(probe, x, t)
            x, t = x[free], t[free]
        values, w, product = probe.rows.at(x, t), probe.motion.at(x, t)["w"], probe.product.at(x, t)
        f = values["f"][:, chosen]
        rate = np.einsum("Nij,Nj->Ni", values["f_x"][:, chosen], w) + values["f_t"][:, chosen]
        growth = (f * rate).sum(axis=1) / np.maximum((f**2).sum(axis=1), 1e-300)
        total = product["f"][:, 0]
        change = (product["f_x"] * product["P"]).sum(axis=1) / np.where(total == 0.0, np.nan, total)
        if len(x):
            found.append(
                Approach(offset, (float(growth.min()), float(growth.max())), (_least(change), -_least(-change)))
            )
    return tuple(found)


def _least(values: Array) -> float:
    """Smallest of the finite numbers."""
    finite = values[np.isfinite(values)]
    return float(finite.min()) if len(finite) else float("nan")


PREVIEW_STARTS = 3
"""Number of starts on the path for previews, if no start is given."""

CORNER_SIZE = 1e-9
"""Share of the region's size within which a field turns round only at corners."""


def verify(
    field: VelocityField,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    times: ArrayLike | None = None,
    samples: int = 300,
    offsets: float | Sequence[float] = (1e-3, 1e-2),
    start: ArrayLike | None = None,
    speed_limit: float | None = None,
    acceleration_limit: float | None = None,
    tolerance: float = 1e-9,
    p: Mapping[str, float] | ArrayLike | None = None,
    seed: int = 1952,
) -> FieldReport:
    """Sample a field in a region; report whether its curves are integral curves and what a moving point meets.

    For every f_i, the n − 1 functions of the program curve together and every boundary by itself:

    1. points on f_i = 0, by Newton's method along the gradients from random points; there |df_i/dt| = |∇f_i·w + f_i,t|
       must be zero. Points that another obstacle covers are counted apart: a point never gets there, and the field does
       not follow those parts; so are points of the program curve near a barrier, which has precedence;
    2. beside it, at the offsets, d ln|f_i|/dt: the rate at which the distance grows, and the same for f = ∏ f_i by ∇f·P
       of ``field.structure``. A program curve must attract;
    3. points on it where its gradient vanishes.

    For the field: largest and smallest |w|, largest acceleration ∂w/∂x w + ∂w/∂t of a point that moves with it, at the
    random points and at those on the rows, all outside of obstacles; jumps of w, searched along straight lines by
    halving; accelerations out of proportion to the smallest length of the scene; points where ∇f = 0, with their kind,
    and where w = 0, by Newton's method from all these points; numbers that are not finite. Corners and edges of
    boundaries, where accelerations are unbounded, are counted and excluded from the largest acceleration. For an
    :class:`~erugin.constraints.EruginField` with barriers also the speeds of the boundaries from the first instant to
    the last, and previews of motions during that time from the start, or from points on the path.

    This is sampling. A reported fault is one, to rounding; an unreported one was not met, which is no proof. The proof
    that df_i/dt vanishes on f_i = 0 is the structure itself, [Erugin1952]_.

    Args:
        field: field to be verified.
        low: lower corner of the region, shape (n,) [m]; that of a box about the curves if not given.
        high: upper corner of the region, shape (n,) [m]; likewise.
        times: instants to sample, shape (k,) [s]; 0, half and all of the time that the region's diagonal takes at
            cruise speed if not given.
        samples: number of random points, spread over the instants in turn; each also starts one search of every kind.
        offsets: distances from the curves at which the approach is measured [m].
        start: position of a point at the first instant, shape (n,) [m]; must be outside of every obstacle.
        speed_limit: |w| that must not be exceeded [m/s].
        acceleration_limit: |∂w/∂x w + ∂w/∂t| that must not be exceeded [m/s²].
        tolerance: largest |df_i/dt| that counts as zero [m/s].
        p: parameters of the field: nominal if not given, changes by name, or the whole vector.
        seed: seed of the random numbers; the same seed gives the same report.

    Raises:
        ModelError: if it is not a field, the region is empty, there is no instant, a number is out of its range, or
            more samples are requested than fit into memory.
        ShapeError: if an array has another shape, or numbers that are not finite.
        ParameterError: if the field does not have a parameter.
    """
    if not callable(getattr(field, "velocity", None)):
        raise ModelError(f"verify() needs a field, such as EruginField(path, obstacles, ...), got {field!r}")
    n, values = field.dimension, field.parameters.values(p)
    if low is None or high is None or times is None:
        corner, opposite, three = default_region(field, values)
        low, high = corner if low is None else low, opposite if high is None else high
        times = three if times is None else times
    instants = np.atleast_1d(reals("times", times))
    region = SearchRegion(vector("low", low, n), vector("high", high, n), vector("times", instants, instants.size))
    if not (region.high > region.low).all():
        raise ModelError(
            f"the region from {format_point(region.low)} to {format_point(region.high)} is empty: high must exceed low"
        )
    if not instants.size:
        raise ModelError("times must hold at least one instant")
    whole_numbers = (int, np.integer)
    if isinstance(samples, bool) or not isinstance(samples, whole_numbers) or samples < instants.size:
        raise ModelError(
            f"samples must be a whole number of points, at least one per instant ({instants.size}), got {samples!r}"
        )
    if not isinstance(seed, whole_numbers) or seed < 0:
        raise ModelError(f"seed must be a whole number of at least zero, got {seed!r}")
    distances = tuple(positive("every offset", d) for d in np.atleast_1d(reals("offsets", offsets)).ravel().tolist())
    limits = [
        None if limit is None else positive(name, limit)
        for name, limit in (("speed_limit", speed_limit), ("acceleration_limit", acceleration_limit))
    ]
    given = None if start is None else vector("start", start, n)
    rng, largest = np.random.default_rng(seed), positive("tolerance", tolerance)
    probe, rows = FieldProbe.of(field, values), field_rows(field, values)
    # Each point starts a search on each row, with the slopes of all functions at every point that is found.
    size = float(samples) * (1 + len(rows)) * (n + 1) * (n + 1 + len(rows))
    with require_memory(size, f"searches from {samples:,} points", "take fewer samples"):
        starts = region.draw(samples, rng)
    looks = [
        examine_row(probe, row, rows, region, starts, offsets=distances, tolerance=largest, rng=rng) for row in rows
    ]
    every = SamplePoints(
        np.concatenate([starts.x, *(on.x for _, on in looks)]), np.concatenate([starts.t, *(on.t for _, on in looks)])
    )
    advances, previews, skipped_previews = _preview_motions(field, values, region, given, looks[0][1])
    clear = np.asarray((probe.flow.at(every.x, every.t)["O"].reshape(len(every), -1) > -1e-9 * region.size).all(axis=1))
    path = np.concatenate([_path_points(field, values, region, looks[0][1]), *(x[None, :] for x, _ in previews)])
    jumps, steep = find_jumps(probe, region, every.only(clear), path, np.random.default_rng(seed))
    searched = every
    every = SamplePoints(np.concatenate([every.x, steep.x]), np.concatenate([every.t, steep.t]))
    functions, motion = probe.rows.at(every.x, every.t)["f"], probe.motion.at(every.x, every.t)
    w, whole = motion["w"], np.asarray(np.isfinite(np.hstack([functions, motion["w"]])).all(axis=1))
    # On a boundary itself rounding decides on which side a point is.
    outside = np.asarray((functions[:, len(rows[0].indices) :] > -1e-9 * region.size).all(axis=1)) & whole
    free, rates = every.only(outside), np.einsum("Nij,Nj->Ni", motion["w_x"], w) + motion["w_t"]
    speeds = np.linalg.norm(w, axis=1)[outside]
    # Where w turns round within a distance that only rounding can cause, there is a corner.
    turning = CORNER_SIZE * region.size * np.linalg.norm(motion["w_x"], axis=(1, 2))
    sharp = outside & (turning > speeds.max(initial=0.0))
    smooth = outside & ~sharp
    sizes = np.linalg.norm(rates, axis=1)
    scale, of = smallest_scale(n, probe, rows, tuple(on for _, on in looks))
    room = turning_length(rows, functions, scale)
    bent = np.minimum(room, 1.0 / np.maximum(level_curvatures(n, probe, rows[0], every), 1e-300))
    with np.errstate(invalid="ignore", over="ignore"):
        share = sizes / max(speeds.max(initial=0.0) ** 2, 1e-300)
        turns, apparent = (np.where(np.isfinite(length), share * length, 0.0) for length in (bent, room))
    return diagnose(
        FieldReport(
            name=field.name,
            dimension=n,
            low=region.low,
            high=region.high,
            times=region.times,
            samples=samples,
            seed=seed,
            tolerance=largest,
            rows=tuple(report for report, _ in looks),
            speed=find_extreme(speeds, free),
            slowest=find_extreme(speeds, free, least=True),
            acceleration=find_extreme(np.linalg.norm(rates, axis=1)[smooth], every.only(smooth)),
            corners=int(sharp.sum()),
            critical_points=find_critical_points(probe, rows, region, searched),
            stagnation_points=find_stagnation_points(probe, rows, region, searched),
            not_finite=int((~whole).sum()),
            first_not_finite=find_extreme(np.ones(int((~whole).sum())), every.only(~whole)),
            clearances={} if given is None else _clearances(probe, rows, given, region.times[:1]),
            jumps=jumps,
            scale=scale,
            scale_of=of,
            turns=find_extreme(turns[smooth], every.only(smooth)),
            apparent=find_extreme(apparent[smooth], every.only(smooth)),
            bends=curvature_jumps(probe, rows, tuple(on for _, on in looks)),
            speeds=advances,
            previews=previews,
            skipped_previews=skipped_previews,
        ),
        speed_limit=limits[0],
        acceleration_limit=limits[1],
    )


def _preview_motions(
    field: VelocityField, values: Array, region: SearchRegion, start: Array | None, on: SamplePoints
) -> tuple[tuple[BarrierSpeed, ...], tuple[tuple[Array, Preview], ...], tuple[str, ...]]:
    """Largest speeds of the boundaries of an Erugin field, previews from starts, and why others are missing."""
    if not isinstance(field, EruginField) or not field.barriers:
        return (), (), ()
    first, last = float(region.times.min()), float(region.times.max())
    names = field.parameters.names
    limit, margin = (float(values[names.index(f"{field.name}.{key}")]) for key in ("limit", "margin"))
    middle = (region.low + region.high) / 2
    position = middle if start is None else start
    advances = barrier_speeds(field, values, first, last, position)
    if any(one.too_fast for one in advances):
        return advances, (), ()
    outer = barrier_speeds(field, values, first, last, position, level=margin)
    advances = tuple(replace(one, at_margin=other.speed) for one, other in zip(advances, outer, strict=True))
    early, marks = on.only(on.t == first).x, _landmarks(field, values, first)
    starts = (
        [start] if start is not None else [*marks[:1], *early[:: max(len(early) // PREVIEW_STARTS, 1)][:PREVIEW_STARTS]]
    )
    found: list[tuple[Array, Preview]] = []
    skipped_previews: list[str] = []
    for position in starts if last > first else ():
        try:
            stage = PreviewSetup.set_up(field, position, last - first, 0.25 * margin / limit, values, t0=first)
            found.append((position, stage.preview(values)))
        except ModelError as error:
            # A start inside of a barrier is reported by its clearance.
            if "m deep" not in str(error):
                skipped_previews.append(str(error))
    return advances, tuple(found), tuple(dict.fromkeys(skipped_previews))


def _landmarks(field: VelocityField, values: Array, time: float) -> Array:
    """Landmarks of the path at a time, shape (k, n); none if it has none."""
    t = ca.SX.sym("t")
    marks = field.path.landmarks(t)
    if marks is None:
        return np.zeros((0, field.dimension))
    kernel = Kernel("landmarks", {"t": t, "p": field.parameters.symbols}, {"marks": ca.densify(marks)}, compiled=False)
    return np.asarray(kernel(time, values)[0], dtype=np.float64).reshape(field.dimension, -1).T


def _path_points(field: VelocityField, values: Array, region: SearchRegion, on: SamplePoints) -> Array:
    """Points that show where a path lies, shape (k, n): its landmarks, or else points on the program curve."""
    marks = np.concatenate([_landmarks(field, values, float(time)) for time in region.times])
    return marks if len(marks) else on.x[:: max(len(on) // 100, 1)]


def _clearances(probe: FieldProbe, rows: tuple[FieldRow, ...], start: Array, time: Array) -> dict[str, float]:
    """Function of every boundary at the start."""
    functions = probe.rows.at(start[None, :], time)["f"][0]
    return {row.name: float(functions[row.indices[0]]) for row in rows if not row.program}
