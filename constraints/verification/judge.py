"""What of a report is wrong, and what is only worth knowing, in sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from .report import FLAT, NEUTRAL, Extreme, FieldReport, RowReport, describe, point


def judged(report: FieldReport, *, speed_limit: float | None, acceleration_limit: float | None) -> FieldReport:
    """The report with its problems and notes.

    Args:
        report: the figures.
        speed_limit: |w| that must not be exceeded [m/s].
        acceleration_limit: |∂w/∂x w + ∂w/∂t| that must not be exceeded [m/s²].
    """
    problems = [text for row in report.rows for text in _problems_of(row, report.tolerance)]
    problems += _problems_of_motion(report, speed_limit, acceleration_limit)
    notes = [text for row in report.rows for text in _notes_of(row)]
    unbounded = [one for one in report.critical_points if one.kind != "crossing" and not one.inside and one.rate != 0.0]
    if unbounded:
        notes.append(
            f"the literal structure P + S∇f − ∇f f_t/|∇f|² is unbounded at {len(unbounded)} critical points of f that "
            f"lie outside of obstacles, where ∇f = 0 and f_t ≠ 0; this field has {max(o.speed for o in unbounded):.3g} "
            "m/s there at most"
        )
    if report.corners:
        notes.append(
            f"at {report.corners} places the field turns round within a billionth of the region, at a corner or edge: "
            "accelerations are unbounded there, and left out of the largest"
        )
    still = [one for one in report.stagnation_points if not one.inside and not one.trap]
    if still:
        notes.append(
            f"at {len(still)} places where no barrier is crossed w = 0 at an instant; points near them leave, or the "
            "field changes there"
        )
    return dataclasses.replace(report, problems=tuple(problems), notes=tuple(notes))


def _problems_of(row: RowReport, tolerance: float) -> Iterator[str]:
    if row.program and not row.points:
        yield f"no place on the program curve {row.name!r} was found in the region: enlarge it, or look at other times"
    if row.faulty:
        yield (
            f"{row.name!r} is no integral curve at {row.faulty} of {row.points} places: |df/dt| on f = 0 is "
            f"{row.drift} [m/s], allowed {tolerance:g}"
        )
    if row.program and row.slope.value < FLAT and not len(row.zero_gradient):
        yield f"the gradients of {row.name!r} vanish on it or depend on each other: least singular value is {row.slope}"
    for flat in row.zero_gradient[:3]:
        yield (
            f"{row.name!r} has a zero gradient on it, at {point(flat[:-1])}, t = {flat[-1]:.4g} s: it has no tangent "
            "there, and no field can follow it"
        )
    if row.program:
        for one in row.approaches:
            if not one.rate[1] < -NEUTRAL:
                yield (
                    f"the program curve {row.name!r} does not attract {one.offset:+g} m beside it: d ln|f|/dt is up to "
                    f"{one.rate[1]:.3g} 1/s, and has to be negative"
                )


def _problems_of_motion(
    report: FieldReport, speed_limit: float | None, acceleration_limit: float | None
) -> Iterator[str]:
    for name, clearance in report.clearances.items():
        if clearance <= 0.0:
            where = "outside of the region" if report[name].role == "region" else "inside"
            yield f"the start lies {where} {name!r}, {-clearance:.4g} m deep"
    limits: tuple[tuple[str, Extreme, float | None, str], ...] = (
        ("speed", report.speed, speed_limit, "m/s"),
        ("acceleration", report.acceleration, acceleration_limit, "m/s²"),
    )
    for what, found, limit, unit in limits:
        if limit is not None and found.value > limit:
            yield f"the {what} is {found} [{unit}], above the limit of {limit:g} by {found.value - limit:.3g}"
    for one in report.stagnation_points:
        if one.trap:
            yield f"a point can come to rest where no barrier is crossed: {describe(one)}"
    if report.not_finite:
        first = report.first_not_finite
        yield (
            f"at {report.not_finite} places a velocity or a function is not a finite number, the first at "
            f"{point(first.place)}, t = {first.time:.4g} s"
        )


def _notes_of(row: RowReport) -> Iterator[str]:
    if not row.program and not row.points:
        yield f"no free place on the boundary of {row.name!r} was found in what was looked at"
    if row.covered and row.program:
        yield (
            f"{row.covered} places on the program curve {row.name!r} are nearer to a barrier than the margin: it "
            f"comes first there, and the curve is left at up to {row.covered_drift:.3g} m/s"
        )
    elif row.covered and row.covered_drift > NEUTRAL:
        yield (
            f"{row.covered} places on {row.name!r} lie beyond another barrier and move against the field by up to "
            f"{row.covered_drift:.3g} m/s: the boundary of all together is what is kept"
        )
    if row.points and not row.program and row.slope.value < FLAT:
        yield f"{row.name!r} has a corner or edge, where its gradient is {row.slope}; there accelerations are unbounded"
    for one in row.approaches:
        if not row.program and one.offset < 0.0 and one.behaviour != "attracts":
            yield (
                f"{-one.offset:g} m beyond {row.name!r}, it is not approached everywhere: d ln|f|/dt "
                f"is {one.rate[0]:.3g} … {one.rate[1]:.3g} 1/s"
            )
