"""Dead time of the input and of the measurement, and the signal history that it reads."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.validation import not_negative
from ..controller import Controller
from .signal_wrapper import SignalWrapper
from .vector_arguments import finite_vector, read_only_copy

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SignalHistory:
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
        return cls((), (), (), read_only_copy(initial))

    def with_sample(self, t: float, before: Array, after: Array, keep: float) -> SignalHistory:
        """With one more sample, and without those that are not needed to look back as far as said.

        Args:
            t: its time, at least that of the last one [s].
            before: the signal just before, shape (n,).
            after: just after, shape (n,).
            keep: how far back is looked [s].
        """
        again = bool(self.times) and t == self.times[-1]
        times = self.times if again else (*self.times, t)
        befores = self.before if again else (*self.before, read_only_copy(before))
        afters = (*self.after[:-1], read_only_copy(after)) if again else (*self.after, read_only_copy(after))
        first = max(bisect_left(times, t - keep) - 2, 0)
        initial = self.initial if first == 0 else afters[first - 1]
        return SignalHistory(times[first:], befores[first:], afters[first:], initial)

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


@dataclass(frozen=True, eq=False)
class DelayMemory:
    """What is remembered.

    Attributes:
        commands: what the law said.
        states: where the motion was, (q, v).
    """

    commands: SignalHistory
    states: SignalHistory


class Delay(SignalWrapper[DelayMemory]):
    """u(t) = c(t − τ), c(t) = law(t, q(t − τ_m), v(t − τ_m)).

    Between two samples the law's output and the state are taken to go on a straight line, at samples the output may
    jump: so a continuous law and a law that is held between samples are both delayed exactly up to the second order in
    the step, for any τ, longer or shorter than a step. Before the first sample there was the initial output, and the
    state was that of the first sample.
    """

    takes_commands = True

    def __init__(
        self, controller: Controller, time: float = 0.0, *, measurement: float = 0.0, initial: ArrayLike = 0.0
    ) -> None:
        """Delay a law.

        Args:
            controller: what is delayed.
            time: τ, of the output [s].
            measurement: τ_m, of the state that the law sees [s].
            initial: output until the law's first arrives, a number or shape (n,).

        Raises:
            ModelError: for a negative time, or an initial output of the wrong shape.
        """
        super().__init__(controller)
        self.time = not_negative("time", time)
        self.measurement = not_negative("measurement", measurement)
        self.initial = finite_vector("initial", initial, self.size, "one for each output")
        self.reset()

    def read(self, own: DelayMemory | None, t: float, q: Array, v: Array) -> DelayMemory:
        """Keep the state."""
        state = np.concatenate([q, v])
        if own is None:
            own = DelayMemory(SignalHistory.empty(self.initial), SignalHistory.empty(state))
        return replace(own, states=own.states.with_sample(t, state, state, self.measurement))

    def measured(self, own: DelayMemory | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state τ_m ago."""
        if own is None:
            raise self.no_sample_yet()
        if self.measurement == 0.0:
            return q, v
        seen = own.states.at(t - self.measurement, t, np.concatenate([q, v]))
        return seen[: len(q)], seen[len(q) :]

    def take(self, own: DelayMemory | None, t: float, before: Array, after: Array) -> DelayMemory | None:
        """Keep the law's output."""
        if own is None:
            return None
        return replace(own, commands=own.commands.with_sample(t, before, after, self.time))

    def shaped(self, own: DelayMemory | None, t: float, command: Array) -> tuple[Array, str]:
        """The output τ ago."""
        if own is None:
            raise self.no_sample_yet()
        if self.time == 0.0:
            return command, ""
        return own.commands.at(t - self.time, t, command), ""
