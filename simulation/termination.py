"""Termination of runs: dependent rows, values that are not finite, divergence, and the stop condition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status, describe_dependent_row, describe_vanishing_row
from .closed_loop import ClosedLoop
from .divergence import DivergenceDetector
from .natural_rank import NATURAL, NaturalFinding, NaturalRank, Rows
from .sample_window import SampleWindow, all_above, all_finite, largest

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

PIVOTS = ("relative_pivots", "pivots")
SMALL = 0.1
"""Share of its largest value below which a falling pivot is extrapolated."""


@dataclass(frozen=True)
class Ending:
    """Sample that ends a run, and the reason.

    Attributes:
        lane: index of the lane.
        index: index of the sample in its block.
        status: OK if the stop condition holds.
        reason: the reason, without the time.
        ahead: True if the event may also lie in the step after the sample.
        by_program: True if rows of the program are the reason.
    """

    lane: int
    index: int
    status: Status
    reason: str
    ahead: bool = False
    by_program: bool = False


@dataclass(frozen=True, eq=False)
class _Pivots:
    """Pivots of some lanes: current values, values extrapolated to the next sample, and the largest so far."""

    now: Array
    ahead: Array
    so_far: Array


class TerminationMonitor:
    """Monitor that finds the samples at which parallel runs end, block by block.

    The result for a lane depends neither on the other lanes nor on the boundaries of blocks. The extremes of a block
    show whether any sample may end a run; only the lanes concerned are then checked sample by sample.
    """

    def __init__(
        self,
        loop: ClosedLoop,
        controller: Controller | None,
        lanes: int,
        step: float,
        divergence: DivergenceDetector,
        before: Array | None = None,
    ) -> None:
        """Start with no samples.

        Args:
            loop: the closed loop that is recorded.
            controller: the controller, which names the rows, or None.
            lanes: number of runs.
            step: interval between samples [s].
            divergence: detector of runs that diverge.
            before: pivots of natural rows one step before the first sample, shape (lanes, k), if known.
        """
        self._divergence = divergence
        self._robot = loop.robot
        self._rank_loss = Status.SINGULAR.sentence if controller is None else controller.rank_loss_message
        self._rows = () if controller is None else controller.rows
        self._tolerance = 0.0 if controller is None else controller.tolerance
        self._switches = loop.sizes["active"] > 0
        self._largest = {key: np.zeros((lanes, loop.sizes[key])) for key in PIVOTS}
        self._before = {key: np.zeros((lanes, loop.sizes[key])) for key in (*PIVOTS, "active")}
        self._natural = NaturalRank(loop.robot, step, lanes, before) if loop.sizes[NATURAL[0]] else None

    def find_endings(self, window: SampleWindow, past: Array) -> list[Ending]:
        """Return the endings of lanes in a block, and update the history that later blocks need.

        Args:
            window: samples that follow those of the previous call, with n > 0.
            past: states at the samples before it, as many as :class:`DivergenceDetector` needs, shape (lanes, m, nx).
        """
        # Beyond the end of a lane the memory is uninitialized and may contain signalling NaNs.
        with np.errstate(all="ignore"):
            return self._find_endings(window, past)

    def _find_endings(self, window: SampleWindow, past: Array) -> list[Ending]:
        count = len(window.states)
        some = 2 * len(window.lanes) <= count
        rows: Rows = window.lanes if some else slice(None)
        checked = window.lanes if some else np.arange(count)
        running = np.ones(len(checked), dtype=np.bool_)
        if not some and len(window.lanes) < count:
            # Checking lanes that have ended too, without effect, is cheaper than copying the others.
            running[:] = False
            running[window.lanes] = True
        data = {key: window.data[key][rows] for key in (*PIVOTS, "active", "stop", *NATURAL)}
        high = {key: largest(np.where(data["active"] > 0.0, data[key], 0.0) if self._switches else data[key])
                for key in PIVOTS if data[key].shape[2]}  # fmt: skip
        regular = self._are_regular(data, high, rows)
        states = window.states[rows]
        if window.first == 0:
            self._divergence.start(states[:, 0], rows)
        regular &= self._divergence.are_within_levels(states, rows) & all_finite(window.data["output"][rows])
        if self._natural is not None:
            if window.first == 0:
                self._natural.start(data[NATURAL[1]][:, 0], rows)
            regular &= self._natural.are_regular(data[NATURAL[0]], data[NATURAL[1]], rows)
        suspect = checked[running & ~regular]
        endings = self._check_samples(window, suspect, past) if suspect.size else []
        for key, found in high.items():
            self._largest[key][rows] = np.maximum(self._largest[key][rows], found)
        for key, before in self._before.items():
            before[rows] = data[key][:, -1]
        if self._natural is not None:
            self._natural.update(data[NATURAL[0]], rows)
        self._divergence.remember(window)
        return endings

    def _are_regular(self, data: dict[str, Array], high: dict[str, Array], rows: Rows) -> Flags:
        """True for lanes whose pivots are all large and whose stop condition never holds."""
        regular = ~(data["stop"] > 0.0).any(axis=(1, 2))
        for key, bound in zip(PIVOTS, (self._tolerance, 0.0), strict=True):
            if data[key].shape[2]:
                # The pivot 1 of a row that is off counts here: that checks too many lanes rather than too few.
                most = np.maximum(self._largest[key][rows], largest(data[key]) if self._switches else high[key])
                regular &= all_above(data[key], np.maximum(SMALL * most, math.nextafter(bound, math.inf)))
        return np.asarray(regular, dtype=np.bool_)

    def _check_samples(self, window: SampleWindow, lanes: NDArray[np.intp], past: Array) -> list[Ending]:
        """Find the endings of some lanes, sample by sample."""
        data = {key: window.data[key][lanes] for key in ("output", *PIVOTS, "active", "stop", *NATURAL)}
        known = _every(np.isfinite(window.states[lanes]))
        finite = known & _every(np.isfinite(data["output"]))
        relative, pivots = (self._ahead(key, window.first, data, lanes) for key in PIVOTS)
        dependent = ~((relative.ahead > self._tolerance) & (pivots.ahead > 0.0))
        # After a vanishing row the factorization continues with 0/0: only the first bad pivot counts.
        leading = dependent & (np.cumsum(dependent, axis=2) == 1)
        singular = known & ~_every(~(leading & ~np.isnan(relative.now)))
        stopped = ~_every(~(data["stop"] > 0.0))
        natural, found = np.zeros_like(known), None
        if self._natural is not None:
            found = self._natural.find(data[NATURAL[0]], data[NATURAL[1]], lanes)
            # The last sample has no step after it.
            final = stopped.copy()
            final[:, -1] |= window.last
            natural = known & (found.changed | (found.falls & ~final))
        endings: list[Ending] = []
        ending = ~finite | singular | stopped | natural
        for j, lane in enumerate(lanes.tolist()):
            i = int(np.argmax(ending[j])) if ending[j].any() else window.n
            lost = i < window.n and bool(natural[j, i] or singular[j, i])
            seen = i + 1 if i < window.n and known[j, i] and not lost else i
            away = self._divergence.find(window, lane, seen, past[lane])
            if away is not None:
                endings.append(Ending(lane, away[0], Status.DIVERGED, away[1]))
            elif i == window.n:
                continue
            elif natural[j, i]:
                endings.append(self._natural_ending(found, lane, j, i))
            elif singular[j, i]:
                row = self._singular_row(relative, pivots, j, i)
                reason = f"{row} {self._rank_loss}"
                endings.append(Ending(lane, i, Status.SINGULAR, reason, ahead=True, by_program=True))
            elif not finite[j, i]:
                endings.append(Ending(lane, i, Status.NOT_FINITE, self._not_finite(window.states[lane, i])))
            else:
                endings.append(Ending(lane, i, Status.OK, "the stop condition holds"))
        return endings

    @staticmethod
    def _natural_ending(found: NaturalFinding | None, lane: int, j: int, i: int) -> Ending:
        assert found is not None
        return Ending(lane, i, Status.SINGULAR, found.sentence(j, i), ahead=True)

    def _ahead(self, key: str, first: int, data: dict[str, Array], lanes: NDArray[np.intp]) -> _Pivots:
        """Pivots extrapolated to the next sample where they fall towards zero; elsewhere the current ones.

        A pivot falls to zero linearly in time at a singular position, and a fixed step jumps across it: the
        extrapolation detects it at the last meaningful sample. Only a pivot that is small relative to its largest value
        so far is extrapolated, so that a large one may fall at any speed. The pivot 1 of a row that is off does not
        count as a value to fall from.
        """
        now = data[key]
        on = data["active"] > 0.0 if self._switches else np.ones(now.shape, dtype=np.bool_)
        if first == 0:
            earlier, on_earlier = now[:, :1], on[:, :1]
        else:
            earlier = self._before[key][lanes][:, None]
            on_earlier = (self._before["active"][lanes] > 0.0)[:, None] if self._switches else on[:, :1]
        before = np.concatenate([earlier, now[:, :-1]], axis=1)
        on_before = np.concatenate([on_earlier, on[:, :-1]], axis=1)
        masked = np.where(on, now, 0.0)
        so_far = np.maximum(np.maximum.accumulate(masked, axis=1), self._largest[key][lanes][:, None])
        with np.errstate(invalid="ignore", over="ignore"):
            falling = (now < SMALL * so_far) & on & on_before
            return _Pivots(now, now + np.where(falling, np.minimum(now - before, 0.0), 0.0), so_far)

    def _singular_row(self, relative: _Pivots, pivots: _Pivots, j: int, i: int) -> str:
        """Describe the row that is dependent at a sample, or else the one that will be first after it."""
        least: Array = np.minimum(relative.now[j, i], 0.0)
        here: Array = np.where(pivots.now[j, i] > 0.0, relative.now[j, i], least)
        if not (here > self._tolerance).all():
            return describe_dependent_row(self._rows, here)
        row = int(np.argmin((relative.ahead[j, i] > self._tolerance) & (pivots.ahead[j, i] > 0.0)))
        with np.errstate(invalid="ignore"):
            share = float(pivots.now[j, i, row] / pivots.so_far[j, i, row])
        return describe_vanishing_row(self._rows, row, share)

    def _not_finite(self, x: Array) -> str:
        names = self._robot.coordinates.names
        bad = [name for name, value in zip(names, x, strict=False) if not np.isfinite(value)]
        return f"not finite: {', '.join(bad) or 'the output or a velocity'}"


def _every(flags: Flags) -> Flags:
    """True where all flags of a sample are set, shape (lanes, n); True for samples without flags."""
    return np.asarray(flags.all(axis=2), dtype=np.bool_)
