"""The report of a verification: figures, problems and notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ParameterError, unknown_name
from ..field.feasibility import BarrierSpeed
from ..field.preview import Preview
from .critical_points import CriticalPoint

Array = NDArray[np.float64]
NEUTRAL = 1e-6
"""Rate of change of a distance below which it counts as constant [1/s]."""
FLAT = 1e-6
"""Gradient on a curve below which it counts as zero; it should be near 1."""
SHOWN = 12
"""Number of critical points that a printed report lists."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """Largest value of a quantity, with its position and time.

    Attributes:
        value: largest value found; NaN if nothing was sampled.
        position: position, shape (n,) [m].
        time: time [s].
    """

    value: float
    position: Array
    time: float

    def __str__(self) -> str:
        """``0.5 at (1, 2), t = 3 s``."""
        return f"{self.value:.3g} at {format_point(self.position)}, t = {self.time:.4g} s"


@dataclass(frozen=True, eq=False)
class VelocityJump:
    """A point where the velocity jumps.

    Attributes:
        position: position on one side, shape (n,) [m].
        time: time [s].
        other: position on the other side, shape (n,) [m].
        later: time there [s]; that of the first side unless the field jumps in time.
        before: velocity on the one side, shape (n,) [m/s].
        after: velocity on the other side, shape (n,) [m/s].
        between: True if it lies between parts of the path, in the convex hull of its points, or near the motion of a
            point, so that a point that makes a detour can meet it. Far off only a start there meets it.
    """

    position: Array
    time: float
    other: Array
    later: float
    before: Array
    after: Array
    between: bool = True

    @property
    def size(self) -> float:
        """|Δw| [m/s]."""
        return float(np.linalg.norm(self.after - self.before))

    def __str__(self) -> str:
        """Size, extent, position, time, and the velocities on both sides."""
        w, v = (", ".join(f"{x:.3g}" for x in side) for side in (self.before, self.after))
        x = ", ".join(f"{a:.6g}" for a in self.position)
        apart = float(np.linalg.norm(self.other - self.position))
        between = f"within {max(self.later - self.time, 0.0):.1g} s" if self.in_time else f"over {apart:.1g} m"
        return f"{self.size:.3g} m/s {between} at ({x}), t = {self.time:.4g} s: from ({w}) to ({v}) m/s"

    @property
    def in_time(self) -> bool:
        """True if it is one position at two instants."""
        return self.later != self.time


@dataclass(frozen=True)
class Approach:
    """Change of a distance at a given offset from a curve.

    Attributes:
        offset: distance from the curve [m]; for a single function with the sign of the side.
        rate: smallest and largest d ln|f_i|/dt over the sampled points [1/s]; for a program curve of |F|.
        product: smallest and largest ∇f·P/f = d ln|f|/dt, f = ∏ f_i, with P of ``field.structure`` [1/s].
    """

    offset: float
    rate: tuple[float, float]
    product: tuple[float, float]

    @property
    def behaviour(self) -> str:
        """``attracts`` if |f_i| falls at all points, ``repels`` if it grows, ``neutral`` if it stays, or ``mixed``."""
        low, high = self.rate
        if max(abs(low), abs(high)) <= NEUTRAL:
            return "neutral"
        return "attracts" if high < -NEUTRAL else "repels" if low > NEUTRAL else "mixed"


@dataclass(frozen=True, eq=False)
class RowReport:
    """Findings about a program curve or a boundary.

    Attributes:
        name: name of the curve.
        role: ``"program"``, which is followed; ``"obstacle"``, to stay outside of; ``"region"``, to stay inside of.
        points: number of sampled points on it, without the covered ones.
        drift: largest |df_i/dt| on f_i = 0 [m/s].
        faulty: number of points where it is above the tolerance.
        covered: number of points on it that lie beyond another barrier, where a point never comes, or, for a program
            curve, nearer to a barrier than the margin, or approaching that faster than the field allows, where the
            barrier has precedence.
        covered_drift: largest |df_i/dt| there [m/s]; NaN without such points.
        slope: smallest singular value of ∂f/∂x on it; at zero the curve has no tangent there.
        zero_gradient: points on it where a gradient vanishes, shape (k, n + 1), the time last.
        approaches: change of distances near it.
    """

    name: str
    role: Literal["program", "obstacle", "region"]
    points: int
    drift: Extreme
    faulty: int
    covered: int
    covered_drift: float
    slope: Extreme
    zero_gradient: Array
    approaches: tuple[Approach, ...]

    @property
    def program(self) -> bool:
        """True if it is followed, False for a barrier."""
        return self.role == "program"


@dataclass(frozen=True, eq=False)
class FieldReport:
    """Findings of :func:`verify` about a field, from samples: faults that no sample met are not in it.

    Attributes:
        name: name of the field.
        dimension: n.
        low: lower corner of the region, shape (n,) [m].
        high: upper corner of the region, shape (n,) [m].
        times: sampled instants, shape (k,) [s].
        samples: number of random points in the region.
        seed: seed of the random numbers.
        tolerance: largest |df_i/dt| that counts as zero [m/s].
        rows: the program curve, then the barriers.
        speed: largest |w| where no barrier is crossed [m/s].
        slowest: smallest |w| there [m/s].
        acceleration: largest |∂w/∂x w + ∂w/∂t| there [m/s²], the acceleration of a point that moves with the field.
        corners: number of points where the field turns round within a billionth of the region.
        critical_points: points where ∇f = 0, f = ∏ f_i.
        stagnation_points: points where w = 0.
        not_finite: number of points with a w or an f_i that is not a finite number.
        first_not_finite: the first of them.
        clearances: function of every barrier at the start, by name [m]; empty if no start was given.
        jumps: points where w jumps, the largest first.
        scale: smallest length within which the field has to turn [m]: a margin or a radius of curvature; infinite if
            nothing bends.
        scale_of: description of that length.
        turns: largest |∂w/∂x w + ∂w/∂t| ℓ/V², V the largest speed and ℓ the scale, or less in notches, at corners, and
            where the level lines of the program curve bend more; of the order of one where w turns as its curves do
            [-].
        apparent: the same without regard to level lines.
        bends: largest jump of the curvature of each boundary whose curvature jumps, by name [1/m].
        speeds: largest speed of the boundary of each barrier.
        previews: pairs of a start and the preview of a motion from there.
        problems: sentences that state what is wrong, where, and by how much.
        skipped_previews: reasons why motions from some starts were not previewed, except starts inside of a barrier.
        notes: sentences on what is worth knowing but not wrong.
    """

    name: str
    dimension: int
    low: Array
    high: Array
    times: Array
    samples: int
    seed: int
    tolerance: float
    rows: tuple[RowReport, ...]
    speed: Extreme
    slowest: Extreme
    acceleration: Extreme
    corners: int
    critical_points: tuple[CriticalPoint, ...]
    stagnation_points: tuple[CriticalPoint, ...]
    not_finite: int
    first_not_finite: Extreme
    clearances: dict[str, float] = field(default_factory=dict[str, float])
    jumps: tuple[VelocityJump, ...] = ()
    scale: float = float("inf")
    scale_of: str = ""
    turns: Extreme | None = None
    apparent: Extreme | None = None
    bends: dict[str, Extreme] = field(default_factory=dict[str, Extreme])
    speeds: tuple[BarrierSpeed, ...] = ()
    previews: tuple[tuple[Array, Preview], ...] = ()
    skipped_previews: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if nothing wrong was found."""
        return not self.problems

    def __getitem__(self, name: str) -> RowReport:
        """The row of this name."""
        for row in self.rows:
            if row.name == name:
                return row
        raise ParameterError(unknown_name("row", name, [row.name for row in self.rows]))

    def __str__(self) -> str:
        """A table of the rows, the figures of the motion, critical points, then problems and notes."""
        box = " × ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.low, self.high, strict=True))
        instants = ", ".join(f"{t:g}" for t in self.times[:6]) + ", …" * (len(self.times) > 6)
        parts = [
            f"field {self.name!r}, n = {self.dimension}: {self.samples} points in {box} m at t = {instants} s",
            f"{'row':14} {'points':>6} {'max |df/dt|':>12} {'least slope':>12}  d ln|f|/dt at an offset [1/s]",
        ]
        parts += [_row_line(row) for row in self.rows]
        parts.append(f"largest speed         {self.speed} [m/s]; smallest {self.slowest.value:.3g}")
        parts.append(f"largest acceleration  {self.acceleration} [m/s²]")
        if self.jumps:
            parts.append(f"jumps of w: {len(self.jumps)} found")
            parts += [f"  {one}" for one in self.jumps[:SHOWN]]
        for label, points in (("∇f = 0", self.critical_points), ("w = 0", self.stagnation_points)):
            parts.append(f"{label}: " + ("none found" if not points else f"{len(points)} found"))
            parts += [f"  {describe_critical_point(one)}" for one in points[:SHOWN]]
            parts += [f"  … and {len(points) - SHOWN} more"] * (len(points) > SHOWN)
        parts += [f"note: {text}" for text in self.notes] + [f"PROBLEM: {text}" for text in self.problems]
        parts.append("ok: nothing wrong was found" if self.ok else f"not ok: {len(self.problems)} problems")
        return "\n".join(parts)


def format_point(position: Array) -> str:
    """Format a position in round brackets.

    Args:
        position: position, shape (n,) [m].
    """
    return "(" + ", ".join(f"{x:.4g}" for x in position) + ")"


def describe_critical_point(one: CriticalPoint) -> str:
    """Describe kind, position, time and speed of a critical point, and what meets there.

    Args:
        one: the critical point.
    """
    text = f"{one.kind} at {format_point(one.position)}, t = {one.time:.4g} s, |w| = {one.speed:.3g} m/s"
    text += f", f_t = {one.rate:.3g}" if one.of == "f" else f", points leave at {one.escape:.3g} 1/s"
    if one.meeting:
        text += f", where {' and '.join(one.meeting)} meet"
    return text + (f", inside {' and '.join(one.inside)}" if one.inside else "")


def _row_line(row: RowReport) -> str:
    rates = "; ".join(
        f"{one.offset:+g}: {one.rate[0]:.3g} … {one.rate[1]:.3g} {one.behaviour}" for one in row.approaches
    )
    kind = f" ({row.covered} covered: {row.covered_drift:.1e})" if row.covered else ""
    return f"{row.name:14} {row.points:6} {row.drift.value:12.1e} {row.slope.value:12.3g}  {rates}{kind}"


PROPORTION = 30.0
"""Largest acceleration that is usual, in units of V²/ℓ, V the largest speed and ℓ the smallest length of a scene."""


def diagnose(report: FieldReport, *, speed_limit: float | None, acceleration_limit: float | None) -> FieldReport:
    """Return the report with its problems and notes.

    Args:
        report: the figures.
        speed_limit: |w| that must not be exceeded [m/s].
        acceleration_limit: |∂w/∂x w + ∂w/∂t| that must not be exceeded [m/s²].
    """
    problems = [text for row in report.rows for text in _row_problems(row, report.tolerance)]
    problems += _motion_problems(report, speed_limit, acceleration_limit)
    notes = [text for row in report.rows for text in _row_notes(row)]
    unbounded = [one for one in report.critical_points if one.kind != "crossing" and not one.inside and one.rate != 0.0]
    if unbounded:
        notes.append(
            f"the literal structure P + S∇f − ∇f f_t/|∇f|² is unbounded at {len(unbounded)} critical points of f that "
            f"lie outside of obstacles, where ∇f = 0 and f_t ≠ 0; the speed of this field there is at most "
            f"{max(o.speed for o in unbounded):.3g} m/s"
        )
    if report.corners:
        notes.append(
            f"at {report.corners} points the field turns round within a billionth of the region, at a corner or edge: "
            "accelerations are unbounded there, and excluded from the largest"
        )
    far = [one for one in report.jumps if not one.between]
    if report.apparent is not None and report.apparent.value > PROPORTION and not _turns_sharply(report):
        notes.append(
            f"the acceleration is {report.apparent.value:.3g} times V²/ℓ at {format_point(report.apparent.position)}, "
            f"t = {report.apparent.time:.4g} s, ℓ = {report.scale:.3g} m, {report.scale_of}: the level lines of the "
            "path bend that sharply there, as around a centre of curvature"
        )
    if far:
        notes.append(
            f"the field jumps at {len(far)} or more points beside the path; the largest jump is {far[0]}. Two parts of "
            "the path are equally near there, and points on either side go to the nearer one: only a start there meets "
            "the jump"
        )
    notes += [
        f"at the margin {one.name!r} moves at up to {one.at_margin:.4g} m/s, more than the {one.allowed:.4g} m/s that "
        "can be followed exactly: the clearance falls below the margin, but the barrier is not entered; raise limit= "
        "to keep the margin"
        for one in report.speeds
        if one.at_margin > one.allowed >= one.speed
    ]
    for name, one in report.bends.items():
        notes.append(
            f"the derivative of the normal of {name!r} jumps, its curvature by {one.value:.3g} 1/m at "
            f"{format_point(one.position)}, t = {one.time:.4g} s: accelerations along it jump there, and so do the "
            "forces of a robot that follows it; to avoid this, use a shape of continuous curvature, such as box(..., "
            "corner='smooth') or an ellipse"
        )
    notes += [f"a motion was not previewed: {reason}" for reason in report.skipped_previews]
    still = [one for one in report.stagnation_points if not one.inside and not one.trap]
    if still:
        notes.append(
            f"at {len(still)} points outside of the barriers w = 0 at an instant; nearby points leave, or the field "
            "changes there"
        )
    return dataclasses.replace(report, problems=tuple(problems), notes=tuple(notes))


def _row_problems(row: RowReport, tolerance: float) -> Iterator[str]:
    if row.program and not row.points:
        yield f"no point on the program curve {row.name!r} was found in the region: enlarge it, or give other times="
    if row.faulty:
        yield (
            f"{row.name!r} is not an integral curve at {row.faulty} of {row.points} points: |df/dt| on f = 0 is "
            f"{row.drift} [m/s], allowed is {tolerance:g}"
        )
    if row.program and row.slope.value < FLAT and not len(row.zero_gradient):
        yield (
            f"the gradients of {row.name!r} vanish on it or depend on each other: their least singular value is "
            f"{row.slope}"
        )
    for flat in row.zero_gradient[:3]:
        yield (
            f"the gradient of {row.name!r} vanishes on it at {format_point(flat[:-1])}, t = {flat[-1]:.4g} s, so that "
            "it has no tangent there and no field can follow it"
        )
    if row.program:
        for one in row.approaches:
            if not one.rate[1] < -NEUTRAL:
                yield (
                    f"the program curve {row.name!r} does not attract {one.offset:+g} m beside it: d ln|f|/dt is up to "
                    f"{one.rate[1]:.3g} 1/s, but must be negative"
                )


def _motion_problems(report: FieldReport, speed_limit: float | None, acceleration_limit: float | None) -> Iterator[str]:
    for name, clearance in report.clearances.items():
        if clearance <= 0.0:
            where = "outside of the region" if report[name].role == "region" else "inside"
            yield f"the start lies {where} {name!r}, {-clearance:.4g} m deep"
    limits: tuple[tuple[str, Extreme, float | None, str], ...] = (
        ("speed", report.speed, speed_limit, "m/s"),
        ("acceleration", report.acceleration, acceleration_limit, "m/s²"),
    )
    for quantity, found, limit, unit in limits:
        if limit is not None and found.value > limit:
            yield f"the {quantity} is {found} [{unit}], above the limit of {limit:g} by {found.value - limit:.3g}"
    if near := [one for one in report.jumps if one.between]:
        yield (
            f"the field jumps at {len(near)} or more points; the largest jump is {near[0]}. No point can follow it "
            "across: keep the point on one side by inside=, use a path with gentler bends, or examine another region "
            "(low=, high=)"
        )
    if _turns_sharply(report) and report.turns is not None:
        turns = report.turns
        yield (
            f"the acceleration at {format_point(turns.position)}, t = {turns.time:.4g} s, is {turns.value:.3g} times "
            f"V²/ℓ, with the largest speed V = {report.speed.value:.3g} m/s and ℓ = {report.scale:.3g} m, "
            f"{report.scale_of}; more than {PROPORTION:g} times is unusual. No curve requires such a turn, which "
            "occurs where a foot of the perpendicular is not unique: keep the point away (inside=), or use a path "
            "with gentler bends"
        )
    yield from (str(one) for one in report.speeds if one.too_fast)
    for start, preview in report.previews:
        for text in preview.problems:
            yield f"starting from {format_point(start)}, {text}"
    for one in report.stagnation_points:
        if one.trap:
            yield f"a point can come to rest where no barrier is crossed: {describe_critical_point(one)}"
    if report.not_finite:
        first = report.first_not_finite
        yield (
            f"at {report.not_finite} points a velocity or a function is not a finite number, the first at "
            f"{format_point(first.position)}, t = {first.time:.4g} s"
        )


def _turns_sharply(report: FieldReport) -> bool:
    """True if the field turns out of proportion."""
    return report.turns is not None and report.turns.value > PROPORTION


def _row_notes(row: RowReport) -> Iterator[str]:
    if not row.program and not row.points:
        yield f"no free point on the boundary of {row.name!r} was found in the region"
    if row.covered and row.program:
        yield (
            f"at {row.covered} points on the program curve {row.name!r} a barrier has precedence, because it is nearer "
            f"than the margin or approached too fast: the field departs from the curve at up to "
            f"{row.covered_drift:.3g} m/s"
        )
    elif row.covered and row.covered_drift > NEUTRAL:
        yield (
            f"{row.covered} points on {row.name!r} lie beyond another barrier and move against the field by up to "
            f"{row.covered_drift:.3g} m/s: only the common boundary of the barriers is an integral curve"
        )
    if row.points and not row.program and row.slope.value < FLAT:
        yield f"{row.name!r} has a corner or edge, where its gradient is {row.slope}; accelerations are unbounded there"
    for one in row.approaches:
        if not row.program and one.offset < 0.0 and one.behaviour != "attracts":
            yield (
                f"{-one.offset:g} m beyond the boundary of {row.name!r}, the field does not lead back everywhere: "
                f"d ln|f|/dt is {one.rate[0]:.3g} … {one.rate[1]:.3g} 1/s"
            )
