"""Points where a gradient or a velocity vanishes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..field.probe import FieldProbe
from .sample_points import FieldRow, SamplePoints, SearchRegion, newton_search

Array = NDArray[np.float64]
Kind = Literal["minimum", "maximum", "saddle", "degenerate", "crossing", "sink", "source", "center"]
ON = 1e-9
"""Magnitude of a function, in units of the region, below which it counts as zero [-]."""
ZERO = 1e-8
"""Magnitude of a gradient or velocity, in units of its median over the region, below which it counts as zero [-]."""
APART = 0.05
"""Degenerate points nearer to each other than this, in units of the region, are reported as one [-]."""
STILL = 1e-6
"""Rate of change below which a field counts as constant in time [m/s²]."""


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A point where ∇f = 0, f = ∏ f_i, or where the field itself vanishes.

    Attributes:
        of: ``"f"``, or ``"w"`` for a point where the field vanishes.
        kind: for f: ``"minimum"`` or ``"maximum"`` (an extremum), ``"saddle"``, ``"degenerate"`` where the Hessian is
            singular, ``"crossing"`` where two curves meet. For w, by the eigenvalues of ∂w/∂x at that instant:
            ``"sink"``, ``"source"``, ``"saddle"``, ``"center"`` for imaginary ones, or ``"degenerate"``.
        position: position, shape (n,) [m].
        time: time [s].
        speed: |w| there [m/s].
        inside: names of the boundaries that it lies inside of; a point outside of them never gets there.
        rate: for f, f_t; where it is not zero the literal structure is unbounded.
        meeting: for a crossing, names of the functions that vanish there.
        escape: for w, largest real part of the eigenvalues of ∂w/∂x [1/s]; above zero nearby points leave. Topology
            requires such saddles: in the plane one for every obstacle that a flow passes.
        trap: for w, True if points near it that cross no barrier come to rest there; the field is also constant there,
            w_t = 0.
    """

    of: Literal["f", "w"]
    kind: Kind
    position: Array
    time: float
    speed: float
    inside: tuple[str, ...]
    rate: float = float("nan")
    meeting: tuple[str, ...] = ()
    escape: float = float("nan")
    trap: bool = False


def find_zeros(
    evaluate: Callable[[Array, Array], tuple[Array, Array]], region: SearchRegion, starts: SamplePoints
) -> tuple[SamplePoints, Array]:
    """Return the different points of a region where r(x, t) = 0, and r_x there, shape (k, n, n).

    They are ordered by time and position. Every search is Newton's method; zeros that no start leads to are not found.

    Args:
        evaluate: r, shape (N, n), and r_x, shape (N, n, n), at positions and times.
        region: points outside of it are left out.
        starts: starts of the searches.
    """
    x, settled = newton_search(evaluate, starts.x, starts.t, longest=0.05 * region.size)
    found = SamplePoints(x, starts.t).only(settled & region.holds(x))
    r, slope = evaluate(found.x, found.t)
    # With a singular or a huge Jacobian a step of least norm can settle off the zero.
    usual = np.abs(evaluate(starts.x, starts.t)[0]).max(axis=1, initial=0.0)
    usual = usual[np.isfinite(usual)]
    small = np.abs(r).max(axis=1, initial=0.0) <= ZERO * (float(np.median(usual)) if len(usual) else 0.0)
    found, slope = found.only(small), slope[small]
    order = np.lexsort((*np.round(found.x, 9).T[::-1], found.t))
    chosen: list[int] = []
    for i in order:
        apart = [
            found.t[i] != found.t[j] or np.linalg.norm(found.x[i] - found.x[j]) > 1e-6 * region.size for j in chosen
        ]
        if all(apart):
            chosen.append(int(i))
    return SamplePoints(found.x[chosen], found.t[chosen]), slope[chosen]


def find_critical_points(
    probe: FieldProbe, rows: tuple[FieldRow, ...], region: SearchRegion, starts: SamplePoints
) -> tuple[CriticalPoint, ...]:
    """Find critical points of f = ∏ f_i, by Newton's method on ∇f = 0.

    In three and more dimensions ∇f = 0 all along the program curve, where n − 1 functions vanish together; the curve
    itself is left out. So are all but one point per instant where the same two functions vanish: they fill a whole
    line, or more. Degenerate points, which fill lines along flat boundaries, are thinned out.

    Args:
        probe: probe of the field.
        rows: its rows.
        region: region of the search.
        starts: starts of the searches.
    """

    def evaluate(x: Array, t: Array) -> tuple[Array, Array]:
        values = probe.product.at(x, t)
        return values["f_x"], values["f_xx"]

    found, hessians = find_zeros(evaluate, region, starts)
    functions, rates = probe.rows.at(found.x, found.t)["f"], probe.product.at(found.x, found.t)["f_t"][:, 0]
    speeds = np.linalg.norm(probe.motion.at(found.x, found.t)["w"], axis=1)
    labels = [row.name + f"[{k}]" * (len(row.indices) > 1) for row in rows for k in range(1, len(row.indices) + 1)]
    points: list[CriticalPoint] = []
    lines: set[tuple[float, tuple[str, ...]]] = set()
    for i in range(len(found)):
        zero = np.abs(functions[i]) <= ON * region.size
        meeting = tuple(label for label, met in zip(labels, zero, strict=True) if met)
        crossing, time = len(meeting) > 1, float(found.t[i])
        if crossing and (meeting == tuple(labels[: len(rows[0].indices)]) or (time, meeting) in lines):
            continue
        if crossing and len(meeting) < found.x.shape[1]:
            lines.add((time, meeting))
        kind = "crossing" if crossing else classify_extremum(hessians[i])
        alike = [one.position for one in points if one.kind == kind == "degenerate" and one.time == time]
        if any(np.linalg.norm(position - found.x[i]) < APART * region.size for position in alike):
            continue
        points.append(
            CriticalPoint(
                of="f",
                kind=kind,
                position=found.x[i],
                time=time,
                speed=float(speeds[i]),
                inside=covering_barriers(rows, functions[i], ON * region.size),
                rate=float(rates[i]),
                meeting=meeting if crossing else (),
            )
        )
    return tuple(points)


def find_stagnation_points(
    probe: FieldProbe, rows: tuple[FieldRow, ...], region: SearchRegion, starts: SamplePoints
) -> tuple[CriticalPoint, ...]:
    """Find points where the field vanishes, w(x, t) = 0, by Newton's method.

    Args:
        probe: probe of the field.
        rows: its rows.
        region: region of the search.
        starts: starts of the searches.
    """

    def evaluate(x: Array, t: Array) -> tuple[Array, Array]:
        values = probe.motion.at(x, t)
        return values["w"], values["w_x"]

    found, slopes = find_zeros(evaluate, region, starts)
    functions = probe.rows.at(found.x, found.t)["f"]
    speeds = np.linalg.norm(probe.motion.at(found.x, found.t)["w"], axis=1)
    inside = [covering_barriers(rows, f, ON * region.size) for f in functions]
    traps = [
        not inside[i] and _is_trap(probe, rows, found.x[i], float(found.t[i]), slopes[i], 1e-5 * region.size)
        for i in range(len(found))
    ]
    return tuple(
        CriticalPoint(
            of="w",
            kind=classify_equilibrium(slopes[i]),
            position=found.x[i],
            time=float(found.t[i]),
            speed=float(speeds[i]),
            inside=inside[i],
            escape=float(eigenvalues(slopes[i]).real.max()),
            trap=traps[i],
        )
        for i in range(len(found))
    )


def _is_trap(
    probe: FieldProbe, rows: tuple[FieldRow, ...], position: Array, at: float, slope: Array, offset: float
) -> bool:
    """True if points near a point with w = 0 come to rest there.

    The field must be constant in time, w_t = 0. No eigenvalue of ∂w/∂x may have a positive real part, or be imaginary:
    points circle around a centre. Where one is zero, and on boundaries, to which the field becomes tangent smoothly and
    beyond which it differs, the velocity a little outside decides.
    """
    pair = np.linalg.eig(slope)
    values, vectors = pair[0].astype(np.complex128), pair[1].astype(np.complex128)
    least = 1e-9 * float(np.abs(values).max())
    circling = (np.abs(values.real) <= least) & (np.abs(values.imag) > least)
    if values.real.max() > least or circling.any():
        return False
    time = np.array([at])
    if np.abs(probe.motion.at(position[None, :], time)["w_t"]).max() > STILL:
        return False
    at_zero = {key: value[0] for key, value in probe.rows.at(position[None, :], time).items()}
    boundaries = [row.indices[0] for row in rows if not row.program]
    touched = [
        at_zero["f_x"][j] / np.linalg.norm(at_zero["f_x"][j])
        for j in boundaries
        if abs(at_zero["f"][j]) <= 1e-3 * offset
    ]
    still = [side * vectors[:, k].real for k in np.flatnonzero(np.abs(values) <= least) for side in (1, -1)]
    for direction in (*touched, *still):
        beside = (position + offset * direction)[None, :]
        free = not covering_barriers(rows, probe.rows.at(beside, time)["f"][0], 0.0)
        if free and float(probe.motion.at(beside, time)["w"][0] @ direction) >= 0.0:
            return False
    return True


def covering_barriers(rows: tuple[FieldRow, ...], functions: Array, tolerance: float) -> tuple[str, ...]:
    """Names of the boundaries that a point lies inside of.

    Args:
        rows: rows of the field.
        functions: f at the point, shape (k,).
        tolerance: least depth inside that counts [m].
    """
    return tuple(row.name for row in rows if not row.program and functions[row.indices[0]] < -tolerance)


def eigenvalues(matrix: Array) -> NDArray[np.complex128]:
    """Eigenvalues of a square matrix, shape (n,).

    Args:
        matrix: shape (n, n).
    """
    return np.asarray(np.linalg.eigvals(matrix), dtype=np.complex128)


def classify_extremum(hessian: Array) -> Kind:
    """Classify a critical point by the Hessian there.

    Args:
        hessian: shape (n, n), symmetric.
    """
    values = np.linalg.eigvalsh((hessian + hessian.T) / 2)
    if np.abs(values).min() <= 1e-9 * np.abs(values).max():
        return "degenerate"
    return "minimum" if values.min() > 0 else "maximum" if values.max() < 0 else "saddle"


def classify_equilibrium(slope: Array) -> Kind:
    """Classify a point with w = 0 by ∂w/∂x there, at a frozen time.

    Args:
        slope: ∂w/∂x, shape (n, n).
    """
    values = eigenvalues(slope)
    size = float(np.abs(values).max())
    if np.abs(values).min() <= 1e-9 * size:
        return "degenerate"
    real = values.real
    if np.abs(real).min() <= 1e-9 * size:
        return "center" if np.abs(real).max() <= 1e-9 * size else "degenerate"
    return "sink" if real.max() < 0 else "source" if real.min() > 0 else "saddle"
