"""What of a report is wrong, and what is only worth knowing, in sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from .report import FLAT, NEUTRAL, Extreme, FieldReport, RowReport, describe, point

PROPORTION = 30.0
"""Largest acceleration that is no fault, in units of V²/ℓ, V the largest speed and ℓ the smallest length of a scene."""


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
    far = [one for one in report.jumps if not one.between]
    if report.apparent is not None and report.apparent.value > PROPORTION and not _turns(report):
        notes.append(
            f"the acceleration is {report.apparent.value:.3g} times V²/ℓ at {point(report.apparent.place)}, "
            f"t = {report.apparent.time:.4g} s, ℓ = {report.scale:.3g} m, {report.scale_of}: there the level lines of "
            "the path bend that sharply, as round a centre of curvature"
        )
    if far:
        notes.append(
            f"the field jumps at {len(far)} places or more beside the path, the most by {far[0]}; there parts of the "
            "path are equally near, and points on either side leave for theirs: only a start there meets it"
        )
    notes += [
        f"at the margin {one.name!r} moves at up to {one.at_margin:.4g} m/s, more than the {one.allowed:.4g} m/s that "
        "are followed exactly: less than the margin is kept there, and nothing enters; raise limit= to keep it"
        for one in report.speeds
        if one.at_margin > one.allowed >= one.speed
    ]
    for name, one in report.bends.items():
        notes.append(
            f"the derivative of the normal of {name!r} jumps, its curvature by {one.value:.3g} 1/m at "
            f"{point(one.place)}, t = {one.time:.4g} s: accelerations along it jump there, and the forces of a robot "
            "that follows; take a shape of continuous curvature, such as box(..., corner='smooth') or an ellipse, if "
            "they must not"
        )
    notes += [f"a motion was not rehearsed: {said}" for said in report.unseen]
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
    if near := [one for one in report.jumps if one.between]:
        yield (
            f"the field jumps at {len(near)} places or more, the most by {near[0]}: no point can follow it across; "
            "keep the point on one side, by inside= or a path with gentler bends, or look at another region (low=, "
            "high=)"
        )
    if _turns(report) and report.turns is not None:
        turns = report.turns
        yield (
            f"the acceleration at {point(turns.place)}, t = {turns.time:.4g} s, is {turns.value:.3g} times V²/ℓ, with "
            f"the largest speed V = {report.speed.value:.3g} m/s and ℓ = {report.scale:.3g} m, {report.scale_of}; no "
            f"more than {PROPORTION:g} times is usual. The field turns there for no curve of its own, as where a foot "
            "of the perpendicular is not unique: keep the point away (inside=), or take a path with gentler bends"
        )
    yield from (str(one) for one in report.speeds if one.too_fast)
    for start, rehearsal in report.rehearsals:
        for text in rehearsal.problems:
            yield f"sent along from {point(start)}, {text}"
    for one in report.stagnation_points:
        if one.trap:
            yield f"a point can come to rest where no barrier is crossed: {describe(one)}"
    if report.not_finite:
        first = report.first_not_finite
        yield (
            f"at {report.not_finite} places a velocity or a function is not a finite number, the first at "
            f"{point(first.place)}, t = {first.time:.4g} s"
        )


def _turns(report: FieldReport) -> bool:
    """Whether the field turns out of all proportion."""
    return report.turns is not None and report.turns.value > PROPORTION


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
