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
    """What is known of each step of a period, at its start; one row per lane that took it.

    Attributes:
        output: u or R, shape (k, n, size).
        pivots: of the law's rows, shape (k, n, m).
        relative: the same relative to the largest of their constraint, shape (k, n, m).
        active: 1 where a row is on, shape (k, n, m); of size 0 if all always are.
        natural: pivots of natural rows, shape (k, n, r); of size 0 if they are not judged.
        natural_relative: the same relative to the largest of their constraint, shape (k, n, r).
    """

    output: Array
    pivots: Array
    relative: Array
    active: Array
    natural: Array
    natural_relative: Array


class EpisodeMonitor:
    """Judges each lane by its own samples since its last reset.

    As in a simulation, a pivot of the law that is small beside its largest so far and falls is extrapolated by one
    step, so that a singular position is seen before a step jumps across it; and likewise those of natural rows, of
    which nothing is known before the start.
    """

    def __init__(
        self, lanes: int, rows: tuple[str, ...], tolerance: float, natural: NaturalRank | None, bounds: Array
    ) -> None:
        """Nothing seen yet.

        Args:
            lanes: how many.
            rows: names of the law's rows.
            tolerance: of the law's relative pivots.
            natural: judges the natural rows of as many lanes; None if they are not judged.
            bounds: of the state, beyond which a motion has run away, shape (nx,).
        """
        self._bounds = bounds.tolist()
        self._rows, self._natural, self._tolerance = rows, natural, tolerance
        self._fresh = np.zeros(lanes, dtype=np.bool_)
        # Lane by lane in memory: what is done to all lanes at once takes one row after the other.
        self._largest = {key: np.zeros((len(rows), lanes)) for key in PIVOT_SIGNALS}
        self._before = {key: np.zeros((lanes, len(rows))) for key in (*PIVOT_SIGNALS, "active")}

    def begin(self, lanes: Rows) -> None:
        """Forget what was seen of some lanes.

        Args:
            lanes: which.
        """
        for largest in self._largest.values():
            largest[:, lanes] = 0.0
        for before in self._before.values():
            before[lanes] = 0.0
        if self._natural is not None:
            self._natural.restart(lanes)
            self._fresh[lanes] = True

    def look(self, lanes: Rows, told: StepSignals, after: Array) -> tuple[NDArray[np.int64], dict[int, str]]:
        """Why lanes cannot go on, shape (k,), and of those that cannot a sentence, by place among the k.

        Args:
            lanes: that took a period, ascending, shape (k,).
            told: of its steps.
            after: state behind it, shape (k, nx).
        """
        with np.errstate(all="ignore"):
            return self._look(lanes, told, after)

    def _look(self, lanes: Rows, told: StepSignals, after: Array) -> tuple[NDArray[np.int64], dict[int, str]]:
        at: Rows | slice = lanes if len(lanes) < len(self._before["active"]) else slice(None)
        within = self._within(after)
        calm, steps = within.copy(), range(told.output.shape[1])
        for s in steps:
            calm &= _are_finite(told.output[:, s])
        largest = {key: rows[:, at] for key, rows in self._largest.items()}
        for key, bound in (("relative", self._tolerance), ("pivots", 0.0)):
            values: Array = getattr(told, key)
            for j in range(len(self._rows)):
                so_far = largest[key][j]
                for s in steps:
                    # The pivot 1 of a row that is off counts here: too much is looked at rather than too little.
                    so_far = np.maximum(so_far, values[:, s, j])
                    calm &= (values[:, s, j] >= SMALL * so_far) & (values[:, s, j] > bound)
        if self._natural is not None:
            fresh = self._fresh[at]
            if fresh.any():
                self._natural.start(told.natural_relative[fresh, 0], lanes[fresh])
                self._fresh[at] = False
            calm &= self._natural.are_regular(told.natural, told.natural_relative, at)
        status = np.zeros(len(lanes), dtype=np.int64)
        said: dict[int, str] = {}
        if not calm.all():
            for i in np.flatnonzero(~calm).tolist():
                found = self._one(int(lanes[i]), told, i, after[i])
                if found is not None:
                    status[i], said[i] = found
        if self._rows:
            self._remember(at, told)
        if self._natural is not None:
            self._natural.update(told.natural, at)
        return status, said

    def _on(self, told: StepSignals) -> Flags:
        return told.active > 0.0 if told.active.shape[2] else np.ones(told.pivots.shape, dtype=np.bool_)

    def _one(self, lane: int, told: StepSignals, i: int, after: Array) -> tuple[Status, str] | None:
        """Status and sentence of one lane, looked at step by step."""
        on = self._on(told)[i]
        here: dict[str, Array] = {}
        ahead: dict[str, Array] = {}
        for key, now in (("relative", told.relative[i]), ("pivots", told.pivots[i])):
            so_far = np.maximum(np.fmax.accumulate(np.where(on, now, 0.0), axis=0), self._largest[key][:, lane])
            before = np.concatenate([self._before[key][lane][None], now[:-1]])
            on_before = np.concatenate([self._before["active"][lane][None] > 0.0, on[:-1]])
            with np.errstate(all="ignore"):
                falls = (now < SMALL * so_far) & on & on_before
                here[key] = now / np.where(so_far > 0.0, so_far, 1.0)
                ahead[key] = now + np.where(falls, np.minimum(now - before, 0.0), 0.0)
        found: NaturalFinding | None = None
        if self._natural is not None:
            one = np.array([lane])
            found = self._natural.find(told.natural[i : i + 1], told.natural_relative[i : i + 1], one)
        for s in range(len(told.output[i])):
            relative = told.relative[i, s]
            vanished = ~((ahead["relative"][s] > self._tolerance) & (ahead["pivots"][s] > 0.0))
            if vanished.any() and not np.isnan(relative[row := int(np.argmax(vanished))]):
                gone = np.where(told.pivots[i, s] > 0.0, relative, 0.0)
                if (gone > self._tolerance).all():
                    sentence = describe_vanishing_row(self._rows, row, float(here["pivots"][s, row]))
                else:
                    sentence = describe_dependent_row(self._rows, gone)
                return Status.SINGULAR, f"{sentence} {Status.SINGULAR.sentence}"
            if found is not None and (found.changed[0, s] or found.falls[0, s]):
                return Status.SINGULAR, found.sentence(0, s)
            if not np.isfinite(told.output[i, s]).all():
                return Status.NOT_FINITE, Status.NOT_FINITE.sentence
        if not np.isfinite(after).all():
            return Status.NOT_FINITE, Status.NOT_FINITE.sentence
        return None if (np.abs(after) <= self._bounds).all() else (Status.DIVERGED, Status.DIVERGED.sentence)

    def _within(self, after: Array) -> Flags:
        """Whether no number of a lane exceeds its bound, or is NaN, shape (k,); of few columns, one after the other."""
        within = np.ones(len(after), dtype=np.bool_)
        for j, bound in enumerate(self._bounds):
            within &= np.abs(after[:, j]) <= bound
        return within

    def _remember(self, at: Rows | slice, told: StepSignals) -> None:
        switched = told.active.shape[2] > 0
        for key in PIVOT_SIGNALS:
            values: Array = getattr(told, key)
            for j, largest in enumerate(self._largest[key]):
                for s in range(values.shape[1]):
                    on = np.where(told.active[:, s, j] > 0.0, values[:, s, j], 0.0) if switched else values[:, s, j]
                    largest[at] = np.fmax(largest[at], on)
            self._before[key][at] = values[:, -1]
        self._before["active"][at] = told.active[:, -1] if switched else 1.0


def _are_finite(values: Array) -> Flags:
    """Whether all numbers of a lane are finite, shape (k,); of few columns, one after the other."""
    still = np.zeros(len(values))
    for j in range(values.shape[1]):
        still += values[:, j] * 0.0
    return np.asarray(still == 0.0, dtype=np.bool_)
