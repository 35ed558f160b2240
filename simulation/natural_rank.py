"""Rank of natural rows along a run, from their pivots sample by sample and extrapolated by one step."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..robots.robot import Robot
from ..symbolic.linear_algebra import PIVOT_TOLERANCE
from .sample_window import Lanes, all_above, largest

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = Lanes | slice
"""Lanes by their numbers, or all of them."""

NATURAL = ("natural_pivots", "natural_relative_pivots")

SMALL = 0.1
"""Fraction of its scale, or of its largest value so far, below which a falling pivot is extrapolated."""

SLACK = 0.1
"""A row vanishes in a step that would leave less of it than this share of its fall in the step before.

The margin keeps a step from ending exactly in the singular position, where values are undefined.
"""


def natural_pivots(robot: Robot, monitor_rank: bool = True) -> dict[str, ca.SX]:
    """Pivots D of A M⁻¹Aᵀ, absolute and relative to the largest row of each constraint, by :data:`NATURAL`.

    Args:
        robot: the plant.
        monitor_rank: False for empty vectors in place of the pivots.
    """
    if not monitor_rank or not robot.natural:
        return dict.fromkeys(NATURAL, ca.SX(0, 1))
    factor = robot.natural_factor
    return dict(zip(NATURAL, (factor.pivots, factor.relative_pivots), strict=True))


class NaturalRank:
    """Monitor of the pivots of natural rows along parallel runs.

    A pivot D is the square of the part of a row that is independent of the rows before it. Through a singular position
    this part, d, is linear in time, and only |d| = √D is known; a fixed step jumps across the zero. So √D, where it is
    small and falling, is extrapolated by a parabola through three samples: if the next value is below zero, the rank
    falls in between. At the end of a mechanism's reach, where a driven motion cannot continue, D itself falls linearly
    and is extrapolated in the same way. The first two samples have only one before them, extrapolated backwards from
    the start along its velocities, and a straight line is used.

    A motion that passes at a distance δ, √D = √((s t)² + δ²), is treated as passing through the singular position if
    δ < 0.37 s h and as regular if δ > 0.65 s h; in between the result depends on where the samples fall. Here s h is
    the change of √D in a step. A fixed step no longer resolves such a turn: in a slider-crank with almost equal arms,
    RK4's energy error below 0.37 s h is 8 % of the kinetic energy or more, without bound; in between it is 1 to 9 %;
    above, it is 2 % for δ = s h and 0.1 % for 2 s h. Only samples are checked: an integrator that chooses its own steps
    might cope with such long intervals, but the run ends all the same.

    With ``redundant="least-norm"`` rows that are dependent from the start are no loss of rank; a row that becomes
    independent later is reported too: either the run started in a singular position or its loops have opened.
    """

    def __init__(self, robot: Robot, step: float, lanes: int = 1, before: Array | None = None) -> None:
        """Start with no samples.

        Args:
            robot: the plant.
            step: interval between samples [s].
            lanes: number of parallel runs, which are independent.
            before: D one step before the first sample, extrapolated backwards, shape (lanes, k); None if unknown.
        """
        self._robot, self._step = robot, step
        k = len(robot.natural_rows)
        # The last two samples; NaN where unknown.
        self._tail = np.full((lanes, 2, k), np.nan)
        if before is not None:
            self._tail[:, 1] = before
        self._largest = np.zeros((lanes, k))
        self._kept: Flags = np.ones((lanes, k), dtype=np.bool_)
        self._started = False

    def start(self, relative: Array, rows: Rows) -> None:
        """Record which rows are dependent at the first samples: these need not become independent later.

        Args:
            relative: D over its scale, shape (lanes, k).
            rows: indices of the lanes.
        """
        if self._robot.redundant == "least-norm":
            self._kept[rows] = relative > PIVOT_TOLERANCE

    def restart(self, rows: Rows) -> None:
        """Forget the history of lanes that restart; nothing is known before their new starts.

        Args:
            rows: indices of the lanes.
        """
        self._tail[rows], self._largest[rows], self._kept[rows] = np.nan, 0.0, True

    def are_regular(self, pivots: Array, relative: Array, rows: Rows) -> Flags:
        """True for lanes whose next samples are all regular, found without checking each of them, shape (lanes,).

        Args:
            pivots: D, shape (lanes, n, k).
            relative: D over its scale, shape (lanes, n, k).
            rows: indices of the lanes.
        """
        kept, tail = self._kept[rows], self._tail[rows]
        so_far = np.maximum(self._largest[rows], largest(pivots))
        if kept.all():
            far = all_above(relative, np.full(so_far.shape, SMALL)) & all_above(pivots, SMALL * so_far)
            far &= (so_far > 0.0).all(axis=1)
        else:
            large = (relative >= SMALL) & (pivots > SMALL * so_far[:, None])
            far = np.asarray(
                np.where(kept[:, None], large, relative <= PIVOT_TOLERANCE).all(axis=(1, 2)), dtype=np.bool_
            )
        if self._started:
            return np.asarray(far & ~np.isnan(tail).any(axis=(1, 2)), dtype=np.bool_)
        # The first two samples have no history, so that they are checked one by one.
        start = self.find(pivots[:, :2], relative[:, :2], rows)
        return np.asarray(far & ~(start.changed | start.falls).any(axis=1), dtype=np.bool_)

    def find(self, pivots: Array, relative: Array, rows: Rows) -> NaturalFinding:
        """Find changes of rank at the next samples.

        Args:
            pivots: D, shape (lanes, n, k).
            relative: D over its scale, shape (lanes, n, k).
            rows: indices of the lanes.
        """
        with np.errstate(all="ignore"):
            samples = np.concatenate([self._tail[rows], pivots], axis=1)
            so_far = np.maximum(np.fmax.accumulate(pivots, axis=1), self._largest[rows][:, None])
            return self._find(samples, relative, so_far, self._kept[rows][:, None])

    def update(self, pivots: Array, rows: Rows) -> None:
        """Store what the check of later samples needs.

        Args:
            pivots: D, shape (lanes, n, k).
            rows: indices of the lanes.
        """
        high = largest(pivots)
        if np.isnan(high).any():
            high = np.fmax.reduce(pivots, axis=1)
        self._largest[rows] = np.maximum(self._largest[rows], high)
        tail = np.concatenate([self._tail[rows], pivots[:, -2:]], axis=1)[:, -2:]
        if not self._started and pivots.shape[1] < 2:
            # The sample extrapolated backwards is accurate enough for a straight line, not for a parabola.
            tail[:, 0] = np.nan
        self._tail[rows] = tail
        self._started = True

    def _find(self, samples: Array, relative: Array, so_far: Array, kept: Flags) -> NaturalFinding:
        """Find changes of rank in samples with the two before them, where the first has only one, extrapolated."""
        earlier, before, pivots = samples[:, :-2].copy(), samples[:, 1:-1], samples[:, 2:]
        if not self._started:
            earlier[:, 1:2] = np.nan
        now, then = _root(pivots), _root(before)
        small = (relative < SMALL) | (pivots < SMALL * so_far)
        # At the start there is no largest value yet: a row that halves in the first step is small.
        crossing = (_next(now, then, _root(earlier)) <= SLACK * (then - now)) & (small | np.isnan(earlier))
        ending = (_next(pivots, before, earlier) <= 0.0) & small
        clean = np.cumsum(np.isnan(pivots), axis=2) == 0
        falls = kept & clean & (now < then) & (crossing | ending)
        share = np.minimum(relative, pivots / np.where(so_far > 0.0, so_far, 1.0))
        gone, risen = kept & ~(share > PIVOT_TOLERANCE), ~kept & (relative > PIVOT_TOLERANCE)
        changed = gone | risen
        # After a vanishing row the factorization continues with 0/0: only the first changed row counts.
        leading = changed & (np.cumsum(changed, axis=2) == 1) & ~np.isnan(share)
        return NaturalFinding(self._robot, self._step, _any(leading), _any(falls), _root(share), gone, risen, falls)


@dataclass(frozen=True, eq=False)
class NaturalFinding:
    """Findings from the pivots of natural rows at some samples.

    Attributes:
        robot: the plant.
        step: between samples [s].
        changed: True where the rank differs from that at the start, shape (lanes, n).
        falls: True where the rank falls in the next step, shape (lanes, n).
        shares: independent part of each row as a share of its scale or its largest value so far, shape (lanes, n, k).
        gone: rows that have become dependent, shape (lanes, n, k).
        risen: rows that were dependent at the start and no longer are, shape (lanes, n, k).
        falling: rows that vanish in the next step, shape (lanes, n, k).
    """

    robot: Robot
    step: float
    changed: Flags
    falls: Flags
    shares: Array
    gone: Flags
    risen: Flags
    falling: Flags

    def sentence(self, lane: int, index: int) -> str:
        """Describe the finding at one of the samples, and what to try.

        Args:
            lane: index among the lanes checked.
            index: index among the samples of the lane.
        """
        robot, names, at = self.robot, self.robot.natural_rows, (lane, index)
        changed = self.gone[at] | self.risen[at]
        i = int(np.argmax(changed if changed.any() else self.falling[at]))
        share = f"{np.nan_to_num(self.shares[lane, index, i]):.3g}"
        left = "its independent part" + (f", outside {', '.join(map(repr, names[:i]))}," if i else "")
        if self.risen[lane, index, i] and not self.gone[lane, index, i]:
            return (
                f"natural row {names[i]!r} of {robot.name} depended on rows before it at the start and no longer does: "
                f"{left} is {share} of the largest row of its constraint. Either the start was a singular position: "
                "start elsewhere, or use integrator=Reduced(); or the loops have opened: take shorter steps, or "
                "increase the gains of the natural constraints."
            )
        falls = "" if changed.any() else ", and falls to zero in the next step"
        return (
            f"natural row {names[i]!r} of {robot.name} becomes dependent on others, or vanishes: {left} is "
            f"{share} of the largest row of its constraint, or of its largest value so far{falls}. The motion reaches "
            f"a singular position, or passes one more closely than steps of {self.step:g} s resolve. Use "
            "integrator=Reduced(), which passes through on its branch; shorter steps, if the motion only passes near; "
            "without_rows(robot, rows), if other rows suffice to constrain the mechanism; or another start."
        )


def _next(now: Array, before: Array, earlier: Array) -> Array:
    """Value extrapolated by one sample: by a parabola, or by a straight line from two samples."""
    straight = 2.0 * now - before
    return np.where(np.isnan(earlier), straight, straight + now - 2.0 * before + earlier)


def _root(pivots: Array) -> Array:
    return np.sqrt(np.maximum(pivots, 0.0))


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.any(axis=2), dtype=np.bool_)
