"""The report of a verification: figures, problems and notes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ParameterError, unknown_name
from .critical_points import CriticalPoint

if TYPE_CHECKING:
    from ..field.feasibility import BarrierSpeed
    from ..field.preview import Preview


Array = NDArray[np.float64]
NEUTRAL = 1e-6
"""A distance that changes at a smaller rate than this neither falls nor grows [1/s]."""
FLAT = 1e-6
"""A gradient below this, on a curve, is taken for zero; it should be near 1."""
SHOWN = 12
"""How many critical points a printed report lists."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """The largest of a quantity, and where it was met.

    Attributes:
        value: the largest found; NaN if nothing was looked at.
        place: shape (n,) [m].
        time: [s].
    """

    value: float
    place: Array
    time: float

    def __str__(self) -> str:
        """``0.5 at (1, 2), t = 3 s``."""
        return f"{self.value:.3g} at {format_point(self.place)}, t = {self.time:.4g} s"


@dataclass(frozen=True, eq=False)
class VelocityJump:
    """A place where the velocity jumps.

    Attributes:
        place: on one side, shape (n,) [m].
        time: [s].
        other: on the other side, shape (n,) [m].
        later: time there [s]; that of the first side unless the field jumps in time.
        before: velocity on the one side, shape (n,) [m/s].
        after: on the other, shape (n,) [m/s].
        between: whether it lies between parts of the path, in the convex hull of its places, or near the way of a
            point; from one part to another a point that is led aside comes there. Far off only a start there meets it.
    """

    place: Array
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
        """How much, where, when, and the velocities on both sides."""
        w, v = (", ".join(f"{x:.3g}" for x in side) for side in (self.before, self.after))
        x = ", ".join(f"{a:.6g}" for a in self.place)
        apart = float(np.linalg.norm(self.other - self.place))
        between = f"within {max(self.later - self.time, 0.0):.1g} s" if self.in_time else f"over {apart:.1g} m"
        return f"{self.size:.3g} m/s {between} at ({x}), t = {self.time:.4g} s: from ({w}) to ({v}) m/s"

    @property
    def in_time(self) -> bool:
        """Whether it is one place at two instants."""
        return self.later != self.time


@dataclass(frozen=True)
class Approach:
    """How a distance changes at a stated offset from a curve.

    Attributes:
        offset: distance from the curve [m]; for a single function with the sign of the side.
        rate: smallest and largest d ln|f_i|/dt over the places looked at [1/s]; for a program curve of |F|.
        product: smallest and largest of ∇f·P/f = d ln|f|/dt, f = ∏ f_i, by P of ``field.structure`` [1/s].
    """

    offset: float
    rate: tuple[float, float]
    product: tuple[float, float]

    @property
    def behaviour(self) -> str:
        """``attracts`` if |f_i| falls at all places, ``repels`` if it grows, ``neutral`` if it stays, or ``mixed``."""
        low, high = self.rate
        if max(abs(low), abs(high)) <= NEUTRAL:
            return "neutral"
        return "attracts" if high < -NEUTRAL else "repels" if low > NEUTRAL else "mixed"


@dataclass(frozen=True, eq=False)
class RowReport:
    """What was found of a program curve or a boundary.

    Attributes:
        name: of the curve.
        role: ``"program"``, to be followed; ``"obstacle"``, to be kept outside of; ``"region"``, to be kept inside of.
        points: how many places on it were looked at, the covered ones left out.
        drift: largest |df_i/dt| on f_i = 0 [m/s].
        faulty: at how many places it was above the tolerance.
        covered: how many places on it lie beyond another barrier, where a point never comes, or, of a program curve,
            nearer to a barrier than the margin, where the barrier comes first.
        covered_drift: largest |df_i/dt| there [m/s]; NaN if there are none.
        slope: smallest singular value of ∂f/∂x on it; at zero the curve has no tangent there.
        zero_gradient: places on it where a gradient vanishes, shape (k, n + 1), the time last.
        approaches: how distances change near it.
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
        """Whether it is to be followed; a barrier otherwise."""
        return self.role == "program"


@dataclass(frozen=True, eq=False)
class FieldReport:
    """What :func:`verify` found of a field: sampled, not proved; what it does not hold was not met.

    Attributes:
        name: of the field.
        dimension: n.
        low: lower corner of the region, shape (n,) [m].
        high: upper corner of it, shape (n,) [m].
        times: instants that were looked at, shape (k,) [s].
        samples: random places in the region.
        seed: of the random numbers.
        tolerance: largest |df_i/dt| that passes for zero [m/s].
        rows: the program curve, then the barriers.
        speed: largest |w| where no barrier is crossed [m/s].
        slowest: smallest |w| there [m/s].
        acceleration: largest |∂w/∂x w + ∂w/∂t| there [m/s²]: what a point needs to move with the field.
        corners: at how many places the field turns round within a billionth of the region.
        critical_points: places where ∇f = 0, f = ∏ f_i.
        stagnation_points: places where w = 0.
        not_finite: how many places have a w or an f_i that is not a finite number.
        first_not_finite: where the first of them is.
        clearances: of every barrier at the start, by name [m]; empty if no start was given.
        jumps: places where w jumps, the largest first.
        scale: smallest length that the field has to turn within [m]: a margin or a radius of curvature; infinite
            where nothing bends.
        scale_of: what that is the length of.
        turns: largest |∂w/∂x w + ∂w/∂t| ℓ/V², V the largest speed and ℓ the scale, or less in notches, at corners, and
            where the level lines of the program curve bend more; of the order of one where w turns as its curves do
            [-].
        apparent: the same without regard to level lines.
        bends: of every boundary whose curvature jumps, where, and by how much [1/m].
        speeds: of every barrier, how fast its boundary advances at most.
        previews: what came of points that were sent along, by their starts.
        problems: sentences that name what is wrong, where, and by how much.
        unseen: why motions from some starts were not rehearsed, other than that a barrier covers the start.
        notes: sentences on what is worth knowing and no fault.
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
    unseen: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing wrong was found."""
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
            f"field {self.name!r}, n = {self.dimension}: {self.samples} places in {box} m at t = {instants} s",
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


def format_point(place: Array) -> str:
    """A place in round brackets.

    Args:
        place: shape (n,) [m].
    """
    return "(" + ", ".join(f"{x:.4g}" for x in place) + ")"


def describe_critical_point(one: CriticalPoint) -> str:
    """Kind, place, time, speed and what lies there.

    Args:
        one: the critical point.
    """
    text = f"{one.kind} at {format_point(one.place)}, t = {one.time:.4g} s, |w| = {one.speed:.3g} m/s"
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
"""Largest acceleration that is no fault, in units of V²/ℓ, V the largest speed and ℓ the smallest length of a scene."""


def diagnose(report: FieldReport, *, speed_limit: float | None, acceleration_limit: float | None) -> FieldReport:
    """The report with its problems and notes.

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
            f"lie outside of obstacles, where ∇f = 0 and f_t ≠ 0; this field has {max(o.speed for o in unbounded):.3g} "
            "m/s there at most"
        )
    if report.corners:
        notes.append(
            f"at {report.corners} places the field turns round within a billionth of the region, at a corner or edge: "
            "accelerations are unbounded there, and left out of the largest"
        )
    far = [one for one in report.jumps if not one.between]
    if report.apparent is not None and report.apparent.value > PROPORTION and not _turns_sharply(report):
        notes.append(
            f"the acceleration is {report.apparent.value:.3g} times V²/ℓ at {format_point(report.apparent.place)}, "
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
            f"{format_point(one.place)}, t = {one.time:.4g} s: accelerations along it jump there, and the forces of "
            "a robot "
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


def _row_problems(row: RowReport, tolerance: float) -> Iterator[str]:
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
            f"{row.name!r} has a zero gradient on it, at {format_point(flat[:-1])}, t = {flat[-1]:.4g} s: it has no "
            "tangent "
            "there, and no field can follow it"
        )
    if row.program:
        for one in row.approaches:
            if not one.rate[1] < -NEUTRAL:
                yield (
                    f"the program curve {row.name!r} does not attract {one.offset:+g} m beside it: d ln|f|/dt is up to "
                    f"{one.rate[1]:.3g} 1/s, and has to be negative"
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
    for what, found, limit, unit in limits:
        if limit is not None and found.value > limit:
            yield f"the {what} is {found} [{unit}], above the limit of {limit:g} by {found.value - limit:.3g}"
    if near := [one for one in report.jumps if one.between]:
        yield (
            f"the field jumps at {len(near)} places or more, the most by {near[0]}: no point can follow it across; "
            "keep the point on one side, by inside= or a path with gentler bends, or look at another region (low=, "
            "high=)"
        )
    if _turns_sharply(report) and report.turns is not None:
        turns = report.turns
        yield (
            f"the acceleration at {format_point(turns.place)}, t = {turns.time:.4g} s, is {turns.value:.3g} times "
            "V²/ℓ, with "
            f"the largest speed V = {report.speed.value:.3g} m/s and ℓ = {report.scale:.3g} m, {report.scale_of}; no "
            f"more than {PROPORTION:g} times is usual. The field turns there for no curve of its own, as where a foot "
            "of the perpendicular is not unique: keep the point away (inside=), or take a path with gentler bends"
        )
    yield from (str(one) for one in report.speeds if one.too_fast)
    for start, preview in report.previews:
        for text in preview.problems:
            yield f"sent along from {format_point(start)}, {text}"
    for one in report.stagnation_points:
        if one.trap:
            yield f"a point can come to rest where no barrier is crossed: {describe_critical_point(one)}"
    if report.not_finite:
        first = report.first_not_finite
        yield (
            f"at {report.not_finite} places a velocity or a function is not a finite number, the first at "
            f"{format_point(first.place)}, t = {first.time:.4g} s"
        )


def _turns_sharply(report: FieldReport) -> bool:
    """Whether the field turns out of all proportion."""
    return report.turns is not None and report.turns.value > PROPORTION


def _row_notes(row: RowReport) -> Iterator[str]:
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
