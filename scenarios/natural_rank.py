"""Whether natural rows lose rank along a run: their pivots, sample by sample, and what comes next."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..robots.robot import Robot
from ..symbolic.semidefinite import TOLERANCE

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

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
    """Judges the pivots of a run's natural rows.

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

    def __init__(self, robot: Robot, step: float, before: Array | None = None) -> None:
        """Nothing seen yet.

        Args:
            robot: the plant.
            step: between samples [s].
            before: D one step before the first sample, shape (k,), if the motion was thought back; else none.
        """
        self._robot, self._step = robot, step
        k = len(robot.natural_rows)
        # Two samples before those that come; what is not known is no number.
        self._tail = np.full((2, k), np.nan)
        if before is not None:
            self._tail[1] = before
        self._largest = np.zeros(k)
        self._kept: Flags | None = None
        self._shares = np.zeros((0, k))
        self._falls = self._risen = self._gone = np.zeros((0, k), dtype=np.bool_)

    def add(self, pivots: Array, relative: Array) -> tuple[Flags, Flags]:
        """Judge the next samples.

        Args:
            pivots: D, shape (n, k).
            relative: D over its scale, shape (n, k).

        Returns:
            Whether the rank is not what it was at the start, and whether it falls in the step that follows, shape (n,)
            each.
        """
        tail, largest = self._tail, self._largest
        self._largest = np.maximum(largest, np.fmax.reduce(pivots, axis=0))
        samples = np.concatenate([tail, pivots])
        self._tail = samples[-2:]
        if self._kept is None:
            least_norm = self._robot.redundant == "least-norm"
            self._kept = relative[0] > TOLERANCE if least_norm else np.ones(relative.shape[1], dtype=np.bool_)
            # What was thought back is good enough for a straight line, not for a parabola.
            self._tail = np.where(np.arange(2)[:, None] + len(pivots) < 2, np.nan, self._tail)
            thought_back = 1
        else:
            thought_back = 0
            far = (relative >= SMALL) & (pivots >= SMALL * self._largest)
            if np.where(self._kept, far, relative <= TOLERANCE).all():
                none = np.zeros(len(pivots), dtype=np.bool_)
                return none, none
        with np.errstate(all="ignore"):
            return self._judged(
                samples, relative, np.maximum(np.fmax.accumulate(pivots, axis=0), largest), thought_back
            )

    def _judged(self, samples: Array, relative: Array, largest: Array, thought_back: int) -> tuple[Flags, Flags]:
        """The same, for samples with the two before them, of which the first has one that was thought back."""
        assert self._kept is not None
        earlier, before, pivots = samples[:-2].copy(), samples[1:-1], samples[2:]
        earlier[1 : 1 + thought_back] = np.nan
        now, then = _root(pivots), _root(before)
        small = (relative < SMALL) | (pivots < SMALL * largest)
        # At the start there is no largest value yet: a row that halves in the first step is small.
        crossing = (_next(now, then, _root(earlier)) <= SLACK * (then - now)) & (small | np.isnan(earlier))
        ending = (_next(pivots, before, earlier) <= 0.0) & small
        clean = np.cumsum(np.isnan(pivots), axis=1) == 0
        self._falls = self._kept & clean & (now < then) & (crossing | ending)
        share = np.minimum(relative, pivots / np.where(largest > 0.0, largest, 1.0))
        self._shares = _root(share)
        self._gone = self._kept & ~(share > TOLERANCE)
        self._risen = ~self._kept & (relative > TOLERANCE)
        changed = self._gone | self._risen
        # Behind a row that vanishes the factorization goes on with 0/0: what the first of them is decides.
        leading = changed & (np.cumsum(changed, axis=1) == 1) & ~np.isnan(share)
        return _any(leading), _any(self._falls)

    def sentence(self, index: int) -> str:
        """What was found at one of the samples that were judged last, and what to try.

        Args:
            index: among these samples.
        """
        robot, names = self._robot, self._robot.natural_rows
        changed = self._gone[index] | self._risen[index]
        i = int(np.argmax(changed if changed.any() else self._falls[index]))
        share = f"{np.nan_to_num(self._shares[index, i]):.3g}"
        left = "what is left of it" + (f" outside {', '.join(map(repr, names[:i]))}" if i else "")
        if self._risen[index, i] and not self._gone[index, i]:
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
            f"singular position, or passes one more closely than steps of {self._step:g} s resolve. Take "
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
    return np.asarray(flags.any(axis=1), dtype=np.bool_)
