"""A signal of the past: linear between samples, at which it may jump."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .entries import frozen

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class History:
    """A signal s at samples t₀ < t₁ < …, with s(t_i − 0) and s(t_i + 0).

    Attributes:
        times: of the samples [s].
        before: the signal just before each, shape (n,) each.
        after: just after each, shape (n,) each.
        initial: the signal before the first sample, shape (n,).
    """

    times: tuple[float, ...]
    before: tuple[Array, ...]
    after: tuple[Array, ...]
    initial: Array

    @classmethod
    def empty(cls, initial: Array) -> Self:
        """Before the first sample.

        Args:
            initial: the signal until then, shape (n,).
        """
        return cls((), (), (), frozen(initial))

    def with_sample(self, t: float, before: Array, after: Array, keep: float) -> History:
        """With one more sample, and without those that are not needed to look back as far as said.

        Args:
            t: its time, at least that of the last one [s].
            before: the signal just before, shape (n,).
            after: just after, shape (n,).
            keep: how far back is looked [s].
        """
        again = bool(self.times) and t == self.times[-1]
        times = self.times if again else (*self.times, t)
        befores = self.before if again else (*self.before, frozen(before))
        afters = (*self.after[:-1], frozen(after)) if again else (*self.after, frozen(after))
        first = max(bisect_left(times, t - keep) - 2, 0)
        initial = self.initial if first == 0 else afters[first - 1]
        return History(times[first:], befores[first:], afters[first:], initial)

    def at(self, when: float, now: float, present: Array) -> Array:
        """The signal at a time in the past, shape (n,).

        Where the time is that of a sample, it is the signal just after it if the present is a sample as well, and just
        before it if the present lies after the last sample: so a step from one sample to the next sees no jump at its
        end that belongs to the next step.

        Args:
            when: the time [s].
            now: the present, not before the last sample [s].
            present: the signal at present, shape (n,).
        """
        times = self.times
        if not times:
            return present
        near = 8 * math.ulp(max(abs(now), abs(times[0])))
        at_sample = now <= times[-1] + near
        i = (bisect_right(times, when + near) if at_sample else bisect_left(times, when - near)) - 1
        if i < 0:
            return self.initial
        last = i == len(times) - 1
        end, value = (now, present) if last else (times[i + 1], self.before[i + 1])
        length = end - times[i]
        if length <= near:
            return self.after[i]
        share = min(max((when - times[i]) / length, 0.0), 1.0)
        return np.asarray(self.after[i] + share * (value - self.after[i]), dtype=np.float64)
