"""Preview of a motion along a field: progress, clearance and standstill of a point, before a robot moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.validation import step_count
from .erugin_field import EruginField
from .feasibility import require_start
from .stepper import FieldStepper, field_stepper, path_stepper

Array = NDArray[np.float64]
MOST_STEPS = 1_000_000

CLEARANCE_WEIGHT = 10.0
"""Metres of progress that a metre of the margin is worth."""

LEAST_PROGRESS = 0.05
"""Share of the margin by which progress must grow to count."""

JUMP = 4.0
"""Ratio of the step of the foot to the step of the point above which the foot has changed to another part of the path.
"""


@dataclass(frozen=True)
class Standstill:
    """A point that follows a field and no longer advances along the path, short of its end.

    Attributes:
        position: position at the end, shape (n,) [m].
        since: time from which on it has made no progress along the path [s].
        until: end of the motion that was examined [s].
        lost: progress that it would have made since then [m].
        still: True if it stands still; otherwise it circles or is pushed about.
        nearest: name of the barrier nearest to it; empty without barriers.
        gap: function of that barrier at the position [m].
    """

    position: tuple[float, ...]
    since: float
    until: float
    lost: float
    still: bool
    nearest: str
    gap: float

    def __str__(self) -> str:
        """Position, time, nearest barrier and remedy."""
        where = "(" + ", ".join(f"{x:.4g}" for x in self.position) + ")"
        before = f", {self.gap:.3g} m from {self.nearest!r}," if self.nearest else ""
        if self.still:
            what = f"the point stands still at {where}{before} from t = {self.since:.4g} s on"
        else:
            what = (
                f"the point makes no progress along the path from t = {self.since:.4g} s on, and is at {where}{before} "
                f"at t = {self.until:.4g} s"
            )
        if not self.nearest:
            return f"{what}, short of the goal: start elsewhere, or change the path there"
        return (
            f"{what}, short of the goal: pass the barriers on other sides, by choose_sides() or side=, lower margin=, "
            "or widen the gap between them"
        )


def find_standstill(t: Array, advance: Array, gaps: Array, names: Sequence[str]) -> Standstill | None:
    """Return the standstill of a point that follows a field, if there is one, from samples of its motion.

    Progress is the motion of the foot of the perpendicular along the path, so that a detour is no loss and a loop round
    an obstacle no gain. The point stands still if it has made none, and stayed within a margin, for as long as two
    margins would have taken; it makes no progress if that lasted as long as half the way round the largest obstacle
    would have taken.

    Args:
        t: times, shape (N,) [s].
        advance: ``stepper.progress_measures`` at these times, shape (3n + 4, N).
        gaps: functions of the barriers, shape (k, N) [m].
        names: names of the barriers.

    Returns:
        None for a point that advances, has reached the end of the path, or has no cruise speed.
    """
    n = (len(advance) - 4) // 3
    x, foot, ahead = advance[:n], advance[n : 2 * n], advance[2 * n : 3 * n]
    desired, remaining, (margin, radius) = advance[3 * n], advance[3 * n + 1], advance[3 * n + 2 :, -1]
    if len(t) < 2 or not np.isfinite(x).all() or (remaining <= 0.0).any():
        return None
    moved, stepped = np.diff(x), np.diff(foot)
    # Where the foot jumps to another part of the path, the motion of the point itself counts.
    jumped = np.linalg.norm(stepped, axis=0) > JUMP * np.linalg.norm(moved, axis=0)
    made = ((ahead[:, 1:] + ahead[:, :-1]) / 2 * np.where(jumped, moved, stepped)).sum(axis=0)
    progress = np.concatenate([[0.0], np.cumsum(made)])
    due = np.concatenate([[0.0], np.cumsum((desired[1:] + desired[:-1]) / 2 * np.diff(t))])
    first = int(np.argmax(progress >= progress.max() - LEAST_PROGRESS * margin))
    # Only the last stretch within a margin of its end counts; before it, the point may have made a detour.
    away = np.flatnonzero(np.linalg.norm(x - x[:, -1:], axis=0) > margin)
    rest = max(first, int(away[-1]) + 1 if len(away) else 0)
    still = float(due[-1] - due[rest]) > 2.0 * margin
    first = rest if still else first
    lost = float(due[-1] - due[first])
    if not lost > (2.0 * margin if still else np.pi * (radius + margin) + 2.0 * margin):
        return None
    j = int(np.argmin(gaps[:, -1])) if len(gaps) else -1
    return Standstill(
        position=tuple(x[:, -1].tolist()),
        since=float(t[first]),
        until=float(t[-1]),
        lost=lost,
        still=still,
        nearest=names[j] if len(gaps) else "",
        gap=float(gaps[j, -1]) if len(gaps) else float("inf"),
    )


@dataclass(frozen=True)
class Preview:
    """Result of a motion along a field.

    Attributes:
        progress: progress along the path, ∫ τ·w dt with τ the path's unit tangent [m].
        departure: mean of |φ₁|, the path's first function [m].
        clearance: least of the barriers' functions [m]; infinite without barriers.
        nearest: least value of each barrier's function, by name [m].
        fastest: largest speed |w| [m/s].
        margin: δ of the field [m].
        standstill: standstill of the point; None if it advanced to the end.
    """

    progress: float
    departure: float
    clearance: float
    nearest: Mapping[str, float]
    fastest: float
    margin: float
    standstill: Standstill | None = None

    @property
    def collision_free(self) -> bool:
        """True if everything is finite and no barrier was crossed."""
        return bool(np.isfinite([self.progress, self.departure, self.fastest]).all()) and self.clearance > 0.0

    @property
    def safe(self) -> bool:
        """True if everything is finite, no barrier was crossed, and the point advanced along the path to the end."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences that describe what went wrong; empty for a safe motion."""
        found: list[str] = []
        if not np.isfinite([self.progress, self.departure, self.fastest]).all():
            found.append("the velocity is not finite on the way: start elsewhere, or use a smaller step=")
        elif not self.clearance > 0.0:
            worst = min(self.nearest, key=lambda name: self.nearest[name])
            found.append(
                f"the point is {-self.clearance:.3g} m inside of {worst!r} on the way: use a smaller step=, another "
                "side (choose_sides()), or barriers that do not close on the point"
            )
        return (*found, *(() if self.standstill is None else (str(self.standstill),)))

    def __str__(self) -> str:
        """The measures, then what went wrong."""
        nearest = min(self.nearest, key=lambda name: self.nearest[name], default="")
        gap = f", least clearance {self.clearance:.3g} m, of {nearest!r}" if nearest else ""
        text = f"{self.progress:.4g} m along the path, {self.departure:.3g} m off it on average{gap}"
        return "\n".join(
            [text, *(f"PROBLEM: {problem}" for problem in self.problems), "safe" if self.safe else "not safe"]
        )

    @property
    def cost(self) -> float:
        """Departure − progress + 10 (δ − clearance)⁺ [m]; infinite if not finite."""
        cost = self.departure - self.progress + CLEARANCE_WEIGHT * max(0.0, self.margin - self.clearance)
        return cost if np.isfinite(cost) else np.inf

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Sort key, less is better: no barrier crossed, then no standstill, then cost, to the µm."""
        return not self.collision_free, not self.safe, round(self.cost, 6)


def preview(
    field: EruginField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> Preview:
    """Send a point along the field, by RK4 from t = 0, and measure its motion.

    Args:
        field: field that is followed.
        start: position at t = 0, shape (n,) [m].
        duration: length of the motion [s].
        step: step of the integration [s].
        p: parameters of the field: nominal if not given, changes by name, or the whole vector.

    Raises:
        ModelError: if the start or the number of steps is not valid, see :func:`require_start`.
    """
    return PreviewSetup.set_up(field, start, duration, step, p).preview(field.parameters.values(p))


@dataclass(frozen=True, eq=False)
class PreviewSetup:
    """A start and a duration, for previews with several values of the parameters.

    Attributes:
        field: field that is followed.
        start: position at t = 0, shape (n,) [m].
        count: number of steps.
        step: step of the integration [s].
        t0: time of the start [s].
    """

    field: EruginField
    start: Array
    count: int
    step: float
    t0: float = 0.0

    @classmethod
    def set_up(
        cls,
        field: EruginField,
        start: ArrayLike,
        duration: float,
        step: float,
        p: Mapping[str, float] | ArrayLike | None,
        *,
        t0: float = 0.0,
    ) -> PreviewSetup:
        """Check the start, the motions of the barriers and the number of steps."""
        count = step_count(duration, step)
        position = require_start(field, start, p, t=t0, duration=duration)
        if count > MOST_STEPS:
            raise ModelError(
                f"{count} steps are too many for a preview (at most {MOST_STEPS}): shorten duration= or lengthen step="
            )
        return cls(field, position, count, duration / count, t0)

    def preview(self, values: Array) -> Preview:
        """Preview the motion with these values of all parameters."""
        along, off, pace, gaps, advance = self._run(field_stepper(self.field), values)
        nearest = {b.name: float(g.min()) for b, g in zip(self.field.barriers, gaps, strict=True)}
        finite = bool(np.isfinite(gaps).all())
        times: Array = self.t0 + self.step * np.arange(self.count, dtype=np.float64)
        margin = values[self.field.parameters.names.index(f"{self.field.name}.margin")] if nearest else 0.0
        return Preview(
            progress=float(along.sum()) * self.step if finite else float("nan"),
            departure=float(off.mean()),
            clearance=min(nearest.values(), default=np.inf),
            nearest=nearest,
            fastest=float(pace.max()),
            margin=float(margin),
            standstill=find_standstill(times, advance, gaps, list(nearest)),
        )

    def outward(self, values: Array) -> dict[str, float]:
        """∇O_j·∇φ₁ by name of the barrier, where a point on the unobstructed path comes nearest to it."""
        gaps, outward = self._run(path_stepper(self.field), values)
        return {
            barrier.name: float(outward[j, int(np.argmin(gaps[j]))]) for j, barrier in enumerate(self.field.barriers)
        }

    def _run(self, walk: FieldStepper, values: Array) -> list[Array]:
        return walk.measure(self.start, self.count, self.step, values, t0=self.t0)
