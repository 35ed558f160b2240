"""What is seen of one row of a field: whether it is an integral curve, and how distances to it change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .newton import least_norm, newton
from .probe import FieldProbe
from .report import FLAT, Approach, Extreme, RowReport
from .rows import Places, Region, Row, points_on

Array = NDArray[np.float64]


def extreme(values: Array, places: Places, *, least: bool = False) -> Extreme:
    """The largest finite value with its place, or the smallest; NaN if there is none.

    Args:
        values: shape (N,).
        places: where they were found.
        least: whether the smallest is meant.
    """
    number = np.where(np.isfinite(values), values, np.inf if least else -np.inf)
    if not np.isfinite(number).any():
        return Extreme(float("nan"), np.nan * np.ones(places.x.shape[1]), float("nan"))
    i = int(np.argmin(number) if least else np.argmax(number))
    return Extreme(float(values[i]), places.x[i].copy(), float(places.t[i]))


def look_at(
    probe: FieldProbe,
    row: Row,
    rows: tuple[Row, ...],
    region: Region,
    starts: Places,
    *,
    offsets: tuple[float, ...],
    tolerance: float,
    rng: np.random.Generator,
) -> tuple[RowReport, Places]:
    """One row at many of its places, and those of them that are free and have a gradient.

    Args:
        probe: of the field.
        row: the row.
        rows: all rows of the field.
        region: where to look.
        starts: where the searches for places on the row begin.
        offsets: distances from it at which the approach is measured [m].
        tolerance: largest |df_i/dt| that passes for zero [m/s].
        rng: for directions, in three and more dimensions.
    """
    found = points_on(probe, row, region, starts)
    others = [other.indices[0] for other in rows if not other.program and other is not row]
    nearest = 0.999999 * row.margin
    hidden = np.asarray((probe.rows.at(found.x, found.t)["f"][:, others] < nearest).any(axis=1))
    seen, covered = found.only(~hidden), found.only(hidden)
    drift, slope = _drift(probe, row, seen)
    hidden_drift = _drift(probe, row, covered)[0]
    # A number that is none must not pass for a small one.
    drift = np.where(np.isfinite(drift), drift, np.inf)
    worst = int(np.argmax(drift)) if len(drift) else -1
    largest = (
        Extreme(float(drift[worst]), seen.x[worst].copy(), float(seen.t[worst])) if len(drift) else extreme(drift, seen)
    )
    report = RowReport(
        name=row.name,
        role=row.role,
        points=len(seen),
        drift=largest,
        faulty=int((drift > tolerance).sum()),
        covered=len(covered),
        covered_drift=float(hidden_drift.max()) if len(covered) else float("nan"),
        slope=extreme(slope, seen, least=True),
        zero_gradient=_flat_places(probe, row, region, starts),
        approaches=_approaches(probe, row, seen, offsets, rng),
    )
    # At a corner of a boundary derivatives are none.
    return report, seen.only(slope > FLAT)


def _drift(probe: FieldProbe, row: Row, places: Places) -> tuple[Array, Array]:
    """Norm of df_i/dt = ∇f_i·w + f_i,t, and the smallest singular value of ∂f/∂x, at each place."""
    chosen = list(row.indices)
    values, w = probe.rows.at(places.x, places.t), probe.motion.at(places.x, places.t)["w"]
    slope = values["f_x"][:, chosen]
    rate = np.einsum("Nij,Nj->Ni", slope, w) + values["f_t"][:, chosen]
    finite = np.isfinite(slope).all(axis=(1, 2))
    least = np.full(len(places), np.nan)
    least[finite] = np.linalg.svd(slope[finite], compute_uv=False).min(axis=1, initial=np.inf)
    return np.abs(rate).max(axis=1, initial=0.0), least


def _flat_places(probe: FieldProbe, row: Row, region: Region, starts: Places) -> Array:
    """Places where a function of the row and its gradient vanish together, by Gauss–Newton steps on (f, ∇f)."""
    n = region.low.size
    found: list[Array] = []
    for index in row.indices:

        def evaluate(x: Array, t: Array, i: int = index) -> tuple[Array, Array]:
            values, curvature = probe.rows.at(x, t), probe.curvature.at(x, t)["f_xx"]
            f, slope = values["f"][:, i], values["f_x"][:, i]
            r = np.concatenate([f[:, None] / region.size, slope], axis=1)
            return r, np.concatenate([slope[:, None, :] / region.size, curvature[:, n * i : n * (i + 1)]], axis=1)

        x, settled = newton(evaluate, starts.x, starts.t, longest=0.05 * region.size)
        ends = Places(x, starts.t).only(settled & region.holds(x))
        flat = ends.only(np.abs(evaluate(ends.x, ends.t)[0]).max(axis=1, initial=0.0) < FLAT)
        for place, time in zip(flat.x, flat.t, strict=True):
            if not any(one[-1] == time and np.linalg.norm(one[:-1] - place) < 1e-4 * region.size for one in found):
                found.append(np.append(place, time))
    return np.array(found).reshape(-1, n + 1)


def _approaches(
    probe: FieldProbe, row: Row, on: Places, offsets: tuple[float, ...], rng: np.random.Generator
) -> tuple[Approach, ...]:
    """d ln|f_i|/dt at places beside the row; of a single function on either side, of several in random directions."""
    chosen = list(row.indices)
    slope = probe.rows.at(on.x, on.t)["f_x"][:, chosen]
    single = len(chosen) == 1
    course = np.ones((len(on), 1)) if single else rng.normal(size=(len(on), len(chosen)))
    aside = least_norm(slope, course)
    aside /= np.maximum(np.linalg.norm(aside, axis=1), 1e-300)[:, None]
    found: list[Approach] = []
    for offset in (d * side for side in ((1, -1) if single else (1,)) for d in offsets):
        x = on.x + offset * aside
        values, w, product = probe.rows.at(x, on.t), probe.motion.at(x, on.t)["w"], probe.product.at(x, on.t)
        f = values["f"][:, chosen]
        rate = np.einsum("Nij,Nj->Ni", values["f_x"][:, chosen], w) + values["f_t"][:, chosen]
        growth = (f * rate).sum(axis=1) / np.maximum((f**2).sum(axis=1), 1e-300)
        total = product["f"][:, 0]
        change = (product["f_x"] * product["P"]).sum(axis=1) / np.where(total == 0.0, np.nan, total)
        if len(on):
            found.append(
                Approach(offset, (float(growth.min()), float(growth.max())), (_least(change), -_least(-change)))
            )
    return tuple(found)


def _least(values: Array) -> float:
    """Smallest of the finite numbers."""
    finite = values[np.isfinite(values)]
    return float(finite.min()) if len(finite) else float("nan")
