"""What was found when a field was looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ParameterError, unknown_name
from .critical_points import CriticalPoint

if TYPE_CHECKING:
    from ..rehearsal import Rehearsal
    from ..start import Advance

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
        return f"{self.value:.3g} at {point(self.place)}, t = {self.time:.4g} s"


@dataclass(frozen=True, eq=False)
class Jump:
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
        rehearsals: what came of points that were sent along, by their starts.
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
    jumps: tuple[Jump, ...] = ()
    scale: float = float("inf")
    scale_of: str = ""
    turns: Extreme | None = None
    apparent: Extreme | None = None
    bends: dict[str, Extreme] = field(default_factory=dict[str, Extreme])
    speeds: tuple[Advance, ...] = ()
    rehearsals: tuple[tuple[Array, Rehearsal], ...] = ()
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
        parts += [_line(row) for row in self.rows]
        parts.append(f"largest speed         {self.speed} [m/s]; smallest {self.slowest.value:.3g}")
        parts.append(f"largest acceleration  {self.acceleration} [m/s²]")
        if self.jumps:
            parts.append(f"jumps of w: {len(self.jumps)} found")
            parts += [f"  {one}" for one in self.jumps[:SHOWN]]
        for label, points in (("∇f = 0", self.critical_points), ("w = 0", self.stagnation_points)):
            parts.append(f"{label}: " + ("none found" if not points else f"{len(points)} found"))
            parts += [f"  {describe(one)}" for one in points[:SHOWN]]
            parts += [f"  … and {len(points) - SHOWN} more"] * (len(points) > SHOWN)
        parts += [f"note: {text}" for text in self.notes] + [f"PROBLEM: {text}" for text in self.problems]
        parts.append("ok: nothing wrong was found" if self.ok else f"not ok: {len(self.problems)} problems")
        return "\n".join(parts)


def point(place: Array) -> str:
    """A place in round brackets.

    Args:
        place: shape (n,) [m].
    """
    return "(" + ", ".join(f"{x:.4g}" for x in place) + ")"


def describe(one: CriticalPoint) -> str:
    """Kind, place, time, speed and what lies there.

    Args:
        one: the critical point.
    """
    text = f"{one.kind} at {point(one.place)}, t = {one.time:.4g} s, |w| = {one.speed:.3g} m/s"
    text += f", f_t = {one.rate:.3g}" if one.of == "f" else f", points leave at {one.escape:.3g} 1/s"
    if one.meeting:
        text += f", where {' and '.join(one.meeting)} meet"
    return text + (f", inside {' and '.join(one.inside)}" if one.inside else "")


def _line(row: RowReport) -> str:
    rates = "; ".join(
        f"{one.offset:+g}: {one.rate[0]:.3g} … {one.rate[1]:.3g} {one.behaviour}" for one in row.approaches
    )
    kind = f" ({row.covered} covered: {row.covered_drift:.1e})" if row.covered else ""
    return f"{row.name:14} {row.points:6} {row.drift.value:12.1e} {row.slope.value:12.3g}  {rates}{kind}"
