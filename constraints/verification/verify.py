"""Looking at a field from many places: is what must hold of it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import positive, reals, vector
from ...symbolic.errors import ModelError
from .critical_points import critical_points, stagnation_points
from .judge import judged
from .look import extreme, look_at
from .probe import FieldProbe
from .report import FieldReport, point
from .rows import Places, Region, Row, rows_of
from .subject import Subject
from .surroundings import surroundings

Array = NDArray[np.float64]

SHARP = 1e-9
"""Share of the region's size within which a field does not turn round, except at corners."""


def verify(
    field: Subject,
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
    """Sample a field in a region, and report whether its curves are integral curves and what a point meets on its way.

    Of every f_i, the n − 1 functions of the program curve together and every boundary by itself:

    1. places on f_i = 0, by Newton's method along the gradients from random places; there |df_i/dt| = |∇f_i·w + f_i,t|
       is to be zero. Places that another obstacle covers are counted apart: a point never gets there, and the field
       need not, and does not, keep those parts;
    2. beside it, at the offsets, d ln|f_i|/dt: the rate at which the distance grows, and the same of f = ∏ f_i by ∇f·P
       of ``field.structure``. A program curve must attract;
    3. places on it where its gradient vanishes.

    Of the field: largest and smallest |w|, largest acceleration ∂w/∂x w + ∂w/∂t of a point that moves with it, at the
    random places and at those on the rows, all outside of obstacles; places where ∇f = 0, with their kind, and where
    w = 0, by Newton's method from all these places; numbers that are none. Corners and edges of boundaries, where
    accelerations are unbounded, are counted and left out of them.

    It samples. What it reports is so to rounding; what it does not report was not met, which is no proof. The proof
    that df_i/dt vanishes on f_i = 0 is the structure itself, [Erugin1952]_.

    Args:
        field: what is looked at.
        low: lower corner of the region, shape (n,) [m]; that of a box about the curves if not given.
        high: upper corner of it, shape (n,) [m]; likewise.
        times: instants to look at, shape (k,) [s]; 0, half and all of the time that the region's diagonal takes at
            cruise speed if not given.
        samples: random places, spread over the instants in turn; each also starts one search of every kind.
        offsets: distances from the curves at which the approach is measured [m].
        start: where a point will start at the first instant, shape (n,) [m]; to be outside of every obstacle.
        speed_limit: |w| that must not be exceeded [m/s].
        acceleration_limit: |∂w/∂x w + ∂w/∂t| that must not be exceeded [m/s²].
        tolerance: largest |df_i/dt| that passes for zero [m/s].
        p: parameters of the field: nominal, overridden by name, or the whole vector.
        seed: of the random numbers; the same seed gives the same report.

    Raises:
        ModelError: for what is no field, an empty region, no instant, or a number out of its range.
        ShapeError: for arrays of another shape, or numbers that are not finite.
        ParameterError: for parameters that the field does not have.
    """
    if not callable(getattr(field, "velocity", None)):
        raise ModelError(f"verify() needs a field, such as EruginField(path, obstacles, ...), got {field!r}")
    n, values = field.dimension, field.parameters.values(p)
    if low is None or high is None or times is None:
        corner, opposite, three = surroundings(field, values)
        low, high = corner if low is None else low, opposite if high is None else high
        times = three if times is None else times
    instants = np.atleast_1d(reals("times", times))
    region = Region(vector("low", low, n), vector("high", high, n), vector("times", instants, instants.size))
    if not (region.high > region.low).all():
        raise ModelError(f"the region from {point(region.low)} to {point(region.high)} is empty: high must exceed low")
    if not instants.size:
        raise ModelError("times must hold at least one instant")
    whole_numbers = (int, np.integer)
    if isinstance(samples, bool) or not isinstance(samples, whole_numbers) or samples < instants.size:
        raise ModelError(f"samples must be a number of places, at least one per instant ({instants.size}): {samples!r}")
    if not isinstance(seed, whole_numbers) or seed < 0:
        raise ModelError(f"seed must be a whole number from zero on, got {seed!r}")
    asked = (offsets,) if isinstance(offsets, int | float) else offsets
    distances = tuple(positive("every offset", d) for d in asked)
    limits = [
        None if limit is None else positive(name, limit)
        for name, limit in (("speed_limit", speed_limit), ("acceleration_limit", acceleration_limit))
    ]
    rng, largest = np.random.default_rng(seed), positive("tolerance", tolerance)
    probe, rows, starts = FieldProbe.of(field, values), rows_of(field, values), region.draw(samples, rng)
    looks = [look_at(probe, row, rows, region, starts, offsets=distances, tolerance=largest, rng=rng) for row in rows]
    seen = Places(
        np.concatenate([starts.x, *(on.x for _, on in looks)]), np.concatenate([starts.t, *(on.t for _, on in looks)])
    )
    functions, motion = probe.rows.at(seen.x, seen.t)["f"], probe.motion.at(seen.x, seen.t)
    w, whole = motion["w"], np.asarray(np.isfinite(np.hstack([functions, motion["w"]])).all(axis=1))
    # On a boundary itself rounding decides which side a place is on.
    outside = np.asarray((functions[:, len(rows[0].indices) :] > -1e-9 * region.size).all(axis=1)) & whole
    free, rates = seen.only(outside), np.einsum("Nij,Nj->Ni", motion["w_x"], w) + motion["w_t"]
    speeds = np.linalg.norm(w, axis=1)[outside]
    # Where w turns round within a distance that only rounding brings a place to, there is a corner.
    turning = SHARP * region.size * np.linalg.norm(motion["w_x"], axis=(1, 2))
    sharp = outside & (turning > speeds.max(initial=0.0))
    smooth = outside & ~sharp
    return judged(
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
            speed=extreme(speeds, free),
            slowest=extreme(speeds, free, least=True),
            acceleration=extreme(np.linalg.norm(rates, axis=1)[smooth], seen.only(smooth)),
            corners=int(sharp.sum()),
            critical_points=critical_points(probe, rows, region, seen),
            stagnation_points=stagnation_points(probe, rows, region, seen),
            not_finite=int((~whole).sum()),
            first_not_finite=extreme(np.ones(int((~whole).sum())), seen.only(~whole)),
            clearances={} if start is None else _clearances(probe, rows, vector("start", start, n), region.times[:1]),
        ),
        speed_limit=limits[0],
        acceleration_limit=limits[1],
    )


def _clearances(probe: FieldProbe, rows: tuple[Row, ...], start: Array, time: Array) -> dict[str, float]:
    """Every boundary's function at the start."""
    functions = probe.rows.at(start[None, :], time)["f"][0]
    return {row.name: float(functions[row.indices[0]]) for row in rows if not row.program}
