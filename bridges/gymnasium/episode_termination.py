"""Termination of episodes: rows that become dependent, diverging states, and numbers that are not finite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.status import Status, describe_dependent_row, describe_vanishing_row
from ...simulation.natural_rank import NaturalFinding, NaturalRank
from ...simulation.termination import SMALL

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]
PIVOT_SIGNALS = ("pivots", "relative")


@dataclass(frozen=True, eq=False)
class StepSignals:
    """Signals at the start of each step of a period; one row per lane that took it.

    Attributes:
        output: u or R, shape (k, n, size).
        pivots: pivots of the law's rows, shape (k, n, m).
        relative: these pivots relative to the largest of their constraint, shape (k, n, m).
        active: 1 where a row is active, shape (k, n, m); of size 0 if all always are.
        status: number of the law's status, shape (k, n, 1); of size 0 if it is always OK.
        natural: pivots of natural rows, shape (k, n, r); of size 0 if they are not monitored.
        natural_relative: these pivots relative to the largest of their constraint, shape (k, n, r).
    """

    output: Array
    pivots: Array
    relative: Array
    active: Array
    status: Array
    natural: Array
    natural_relative: Array


class EpisodeMonitor:
    """Monitor of each lane by its own samples since its last reset.

    As in a simulation, a pivot of the law that is small relative to its largest so far and decreases is extrapolated by
    one step, so that a singular position is detected before a step jumps across it; likewise the pivots of natural
    rows, which have no history before the start.
    """

    def __init__(
        self, lanes: int, rows: tuple[str, ...], tolerance: float, natural: NaturalRank | None, bounds: Array
    ) -> None:
        """Build a monitor without history.

        Args:
            lanes: number of lanes.
            rows: names of the law's rows.
            tolerance: tolerance of the law's relative pivots.
            natural: monitor of the natural rows of as many lanes; None if they are not monitored.
            bounds: bounds of the state, beyond which a motion has diverged, shape (nx,).
        """
        self._bounds = bounds.tolist()
        self._rows, self._natural, self._tolerance = rows, natural, tolerance
        self._fresh = np.zeros(lanes, dtype=np.bool_)
        # One row per pivot: operations on all lanes at once then run over contiguous memory.
        self._largest = {key: np.zeros((len(rows), lanes)) for key in PIVOT_SIGNALS}
        self._before = {key: np.zeros((lanes, len(rows))) for key in (*PIVOT_SIGNALS, "active")}

    def begin(self, lanes: Rows) -> None:
        """Forget the history of some lanes.

        Args:
            lanes: indices of the lanes.
        """
        for largest in self._largest.values():
            largest[:, lanes] = 0.0
        for before in self._before.values():
            before[lanes] = 0.0
        if self._natural is not None:
            self._natural.restart(lanes)
            self._fresh[lanes] = True

    def check(self, lanes: Rows, signals: StepSignals, after: Array) -> tuple[NDArray[np.int64], dict[int, str]]:
        """Return the status of lanes, shape (k,), and why lanes cannot continue, by index among the k.

        Args:
            lanes: indices of the lanes that took a period, ascending, shape (k,).
            signals: signals of its steps.
            after: state after it, shape (k, nx).
        """
        with np.errstate(all="ignore"):
            return self._check(lanes, signals, after)

    def _check(self, lanes: Rows, signals: StepSignals, after: Array) -> tuple[NDArray[np.int64], dict[int, str]]:
        at: Rows | slice = lanes if len(lanes) < len(self._before["active"]) else slice(None)
        within = self._within(after)
        calm, steps = within.copy(), range(signals.output.shape[1])
        for s in steps:
            calm &= _are_finite(signals.output[:, s]) & ~_unsafe(signals.status[:, s]).any(axis=1)
        largest = {key: rows[:, at] for key, rows in self._largest.items()}
        for key, bound in (("relative", self._tolerance), ("pivots", 0.0)):
            values: Array = getattr(signals, key)
            for j in range(len(self._rows)):
                so_far = largest[key][j]
                for s in steps:
                    # The pivot 1 of an inactive row counts here: rather check a lane too often than too seldom.
                    so_far = np.maximum(so_far, values[:, s, j])
                    calm &= (values[:, s, j] >= SMALL * so_far) & (values[:, s, j] > bound)
        if self._natural is not None:
            fresh = self._fresh[at]
            if fresh.any():
                self._natural.start(signals.natural_relative[fresh, 0], lanes[fresh])
                self._fresh[at] = False
            calm &= self._natural.are_regular(signals.natural, signals.natural_relative, at)
        status = np.zeros(len(lanes), dtype=np.int64)
        reasons: dict[int, str] = {}
        if not calm.all():
            for i in np.flatnonzero(~calm).tolist():
                finding = self._check_lane(int(lanes[i]), signals, i, after[i])
                if finding is not None:
                    status[i], reasons[i] = finding
        if self._rows:
            self._remember(at, signals)
        if self._natural is not None:
            self._natural.update(signals.natural, at)
        return status, reasons

    def _on(self, signals: StepSignals) -> Flags:
        return signals.active > 0.0 if signals.active.shape[2] else np.ones(signals.pivots.shape, dtype=np.bool_)

    def _check_lane(self, lane: int, signals: StepSignals, i: int, after: Array) -> tuple[Status, str] | None:
        """Return status and reason of one lane, checked step by step; None if it can continue."""
        on = self._on(signals)[i]
        relative_to_largest: dict[str, Array] = {}
        extrapolated: dict[str, Array] = {}
        for key, now in (("relative", signals.relative[i]), ("pivots", signals.pivots[i])):
            so_far = np.maximum(np.fmax.accumulate(np.where(on, now, 0.0), axis=0), self._largest[key][:, lane])
            before = np.concatenate([self._before[key][lane][None], now[:-1]])
            on_before = np.concatenate([self._before["active"][lane][None] > 0.0, on[:-1]])
            with np.errstate(all="ignore"):
                falls = (now < SMALL * so_far) & on & on_before
                relative_to_largest[key] = now / np.where(so_far > 0.0, so_far, 1.0)
                extrapolated[key] = now + np.where(falls, np.minimum(now - before, 0.0), 0.0)
        finding: NaturalFinding | None = None
        if self._natural is not None:
            index = np.array([lane])
            finding = self._natural.find(signals.natural[i : i + 1], signals.natural_relative[i : i + 1], index)
        for s in range(len(signals.output[i])):
            relative = signals.relative[i, s]
            vanished = ~((extrapolated["relative"][s] > self._tolerance) & (extrapolated["pivots"][s] > 0.0))
            if vanished.any() and not np.isnan(relative[row := int(np.argmax(vanished))]):
                vanished_pivots = np.where(signals.pivots[i, s] > 0.0, relative, 0.0)
                if (vanished_pivots > self._tolerance).all():
                    sentence = describe_vanishing_row(self._rows, row, float(relative_to_largest["pivots"][s, row]))
                else:
                    sentence = describe_dependent_row(self._rows, vanished_pivots)
                return Status.SINGULAR, f"{sentence} {Status.SINGULAR.sentence}"
            if finding is not None and (finding.changed[0, s] or finding.falls[0, s]):
                return Status.SINGULAR, finding.sentence(0, s)
            if _unsafe(signals.status[i, s]).any():
                status = Status(int(signals.status[i, s, 0]))
                return status, status.sentence
            if not np.isfinite(signals.output[i, s]).all():
                return Status.NOT_FINITE, Status.NOT_FINITE.sentence
        if not np.isfinite(after).all():
            return Status.NOT_FINITE, Status.NOT_FINITE.sentence
        return None if (np.abs(after) <= self._bounds).all() else (Status.DIVERGED, Status.DIVERGED.sentence)

    def _within(self, after: Array) -> Flags:
        """Return True where no number of a lane exceeds its bound or is NaN, shape (k,); fast for few columns."""
        within = np.ones(len(after), dtype=np.bool_)
        for j, bound in enumerate(self._bounds):
            within &= np.abs(after[:, j]) <= bound
        return within

    def _remember(self, at: Rows | slice, signals: StepSignals) -> None:
        switched = signals.active.shape[2] > 0
        for key in PIVOT_SIGNALS:
            values: Array = getattr(signals, key)
            for j, largest in enumerate(self._largest[key]):
                for s in range(values.shape[1]):
                    on = np.where(signals.active[:, s, j] > 0.0, values[:, s, j], 0.0) if switched else values[:, s, j]
                    largest[at] = np.fmax(largest[at], on)
            self._before[key][at] = values[:, -1]
        self._before["active"][at] = signals.active[:, -1] if switched else 1.0


def _unsafe(status: Array) -> Flags:
    """Return True where a status says that there is no output; NaN says nothing."""
    return np.asarray((status > 0.0) & (status != Status.LIMITED) & (status != Status.HELD), dtype=np.bool_)


def _are_finite(values: Array) -> Flags:
    """Return True where all numbers of a lane are finite, shape (k,); fast for few columns."""
    still = np.zeros(len(values))
    for j in range(values.shape[1]):
        still += values[:, j] * 0.0
    return np.asarray(still == 0.0, dtype=np.bool_)
