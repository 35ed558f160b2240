"""Whether natural rows lose rank along a run: their pivots, sample by sample, and what comes next."""

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
"""Share of its scale, or of its largest value so far, below which a falling pivot is extrapolated."""

SLACK = 0.1
"""A row that would be left after a step by less than this share of its fall in the step before vanishes in it.

So no step ends exactly in the position, where nothing is a number any more.
"""


def natural_pivots(robot: Robot, judged: bool = True) -> dict[str, ca.SX]:
    """Pivots D of A M⁻¹Aᵀ and the same relative to the largest row of each constraint, by :data:`NATURAL`.

    Args:
        robot: the plant.
        judged: False for no pivots at all.
    """
    if not judged or not robot.natural:
        return dict.fromkeys(NATURAL, ca.SX(0, 1))
    factor = robot.natural_factor
    return dict(zip(NATURAL, (factor.pivots, factor.relative_pivots), strict=True))


class NaturalRank:
    """Judges the pivots of natural rows along runs side by side.

    A pivot D is the square of what is left of a row outside the rows before it. Through a singular position what is
    left, d, goes linearly in time, and |d| = √D is what is known of it; a fixed step jumps across the zero. So √D,
    where it is small and falls, is extrapolated by a parabola through three samples: below zero at the next one, the
    rank falls in between. At the end of a mechanism's reach, where a driven motion has nowhere to go on to, D itself
    falls linearly, and is extrapolated likewise. The first two samples have but one before them, thought back from the
    start along its velocities, and a straight line must do.

    A motion that passes at a distance δ, √D = √((s t)² + δ²), is taken for one that goes through if δ < 0.37 s h, let
    pass if δ > 0.65 s h, and in between it is one or the other as the samples fall; s h is by how much √D changes in a
    step. A fixed step no longer resolves the turn there: in a slider-crank with almost equal arms RK4's energy goes
    wrong by 8 % of the kinetic energy up to infinity, in between by 1 to 9 %; in motions that are let pass, by 2 % for
    δ = s h and 0.1 % for 2 s h. It is samples that are judged: an integrator that chooses its own steps could do with
    such long intervals, and ends as well.

    With ``redundant="least-norm"`` rows that are left out from the start on are no fall of rank; one that comes to
    count is told as well: the run then began in a singular position, or its loops have opened.
    """

    def __init__(self, robot: Robot, step: float, lanes: int = 1, before: Array | None = None) -> None:
        """Nothing seen yet.

        Args:
            robot: the plant.
            step: between samples [s].
            lanes: number of runs side by side, none of which matters for another.
            before: D one step before the first sample, shape (lanes, k), if the motions were thought back; else none.
        """
        self._robot, self._step = robot, step
        k = len(robot.natural_rows)
        # Two samples before those that come; what is not known is no number.
        self._tail = np.full((lanes, 2, k), np.nan)
        if before is not None:
            self._tail[:, 1] = before
        self._largest = np.zeros((lanes, k))
        self._kept: Flags = np.ones((lanes, k), dtype=np.bool_)
        self._begun = False

    def begin(self, relative: Array, rows: Rows) -> None:
        """Look at the first samples: rows left out there need not count later.

        Args:
            relative: D over its scale, shape (lanes, k).
            rows: which lanes these are.
        """
        if self._robot.redundant == "least-norm":
            self._kept[rows] = relative > PIVOT_TOLERANCE

    def restart(self, rows: Rows) -> None:
        """Forget what was seen of some lanes, which begin anew; of what was before their starts nothing is known.

        Args:
            rows: which lanes these are.
        """
        self._tail[rows], self._largest[rows], self._kept[rows] = np.nan, 0.0, True

    def calm(self, pivots: Array, relative: Array, rows: Rows) -> Flags:
        """Lanes whose next samples are told to be all right without a look at each of them, shape (lanes,).

        Args:
            pivots: D, shape (lanes, n, k).
            relative: D over its scale, shape (lanes, n, k).
            rows: which lanes these are.
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
        if self._begun:
            return np.asarray(far & ~np.isnan(tail).any(axis=(1, 2)), dtype=np.bool_)
        # Of the first two samples less is known, and more is told.
        start = self.judge(pivots[:, :2], relative[:, :2], rows)
        return np.asarray(far & ~(start.changed | start.falls).any(axis=1), dtype=np.bool_)

    def judge(self, pivots: Array, relative: Array, rows: Rows) -> NaturalFinding:
        """Judge the next samples.

        Args:
            pivots: D, shape (lanes, n, k).
            relative: D over its scale, shape (lanes, n, k).
            rows: which lanes these are.
        """
        with np.errstate(all="ignore"):
            samples = np.concatenate([self._tail[rows], pivots], axis=1)
            so_far = np.maximum(np.fmax.accumulate(pivots, axis=1), self._largest[rows][:, None])
            return self._judged(samples, relative, so_far, self._kept[rows][:, None])

    def remember(self, pivots: Array, rows: Rows) -> None:
        """Keep what the judgement of later samples needs.

        Args:
            pivots: D, shape (lanes, n, k).
            rows: which lanes these are.
        """
        high = largest(pivots)
        if np.isnan(high).any():
            high = np.fmax.reduce(pivots, axis=1)
        self._largest[rows] = np.maximum(self._largest[rows], high)
        tail = np.concatenate([self._tail[rows], pivots[:, -2:]], axis=1)[:, -2:]
        if not self._begun and pivots.shape[1] < 2:
            # What was thought back is good enough for a straight line, not for a parabola.
            tail[:, 0] = np.nan
        self._tail[rows] = tail
        self._begun = True

    def _judged(self, samples: Array, relative: Array, so_far: Array, kept: Flags) -> NaturalFinding:
        """The same, for samples with the two before them, of which the first has one that was thought back."""
        earlier, before, pivots = samples[:, :-2].copy(), samples[:, 1:-1], samples[:, 2:]
        if not self._begun:
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
        # Behind a row that vanishes the factorization goes on with 0/0: what the first of them is decides.
        leading = changed & (np.cumsum(changed, axis=2) == 1) & ~np.isnan(share)
        return NaturalFinding(self._robot, self._step, _any(leading), _any(falls), _root(share), gone, risen, falls)


@dataclass(frozen=True, eq=False)
class NaturalFinding:
    """What the pivots of natural rows say at each of some samples.

    Attributes:
        robot: the plant.
        step: between samples [s].
        changed: whether the rank is not what it was at the start, shape (lanes, n).
        falls: whether it falls in the step that follows, shape (lanes, n).
        shares: what is left of each row as a share of its scale, or of itself so far, shape (lanes, n, k).
        gone: rows that no longer count, shape (lanes, n, k).
        risen: rows that did not count at the start, shape (lanes, n, k).
        falling: rows that vanish in the step that follows, shape (lanes, n, k).
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
        """What was found at one of the samples, and what to try.

        Args:
            lane: among those judged.
            index: among its samples.
        """
        robot, names, at = self.robot, self.robot.natural_rows, (lane, index)
        changed = self.gone[at] | self.risen[at]
        i = int(np.argmax(changed if changed.any() else self.falling[at]))
        share = f"{np.nan_to_num(self.shares[lane, index, i]):.3g}"
        left = "what is left of it" + (f" outside {', '.join(map(repr, names[:i]))}" if i else "")
        if self.risen[lane, index, i] and not self.gone[lane, index, i]:
            return (
                f"natural row {names[i]!r} of {robot.name} depended on rows before it at the start and no longer does: "
                f"{left} is {share} of the largest row of its constraint. Either the start was a singular position: "
                "start elsewhere, or take integrator=Reduced(); or the loops have opened: take shorter steps, or "
                "stronger gains of the natural constraints."
            )
        falls = "" if changed.any() else ", and falls to zero in the next step"
        return (
            f"natural row {names[i]!r} of {robot.name} comes to depend on others, or vanishes: {left} is "
            f"{share} of the largest row of its constraint, or of itself so far{falls}. The motion reaches a "
            f"singular position, or passes one more closely than steps of {self.step:g} s resolve. Take "
            "integrator=Reduced(), which goes through on its branch; shorter steps, if it only passes near; "
            "without_rows(robot, rows), if others hold the mechanism as well; or another start."
        )


def _next(now: Array, before: Array, earlier: Array) -> Array:
    """Extrapolated by one sample: by a parabola, or by a straight line where there are but two."""
    straight = 2.0 * now - before
    return np.where(np.isnan(earlier), straight, straight + now - 2.0 * before + earlier)


def _root(pivots: Array) -> Array:
    return np.sqrt(np.maximum(pivots, 0.0))


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.any(axis=2), dtype=np.bool_)
