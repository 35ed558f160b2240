"""Dead time of the input and of the measurement, and the signal history that it reads."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.validation import not_negative, read_only_copy, vector_argument
from ..controller import Controller
from .signal_wrapper import SignalWrapper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SignalHistory:
    """A signal s at samples t₀ < t₁ < …, with s(t_i − 0) and s(t_i + 0).

    Attributes:
        times: times of the samples [s].
        before: the signal just before each sample, shape (n,) each.
        after: the signal just after each sample, shape (n,) each.
        initial: the signal before the first sample, shape (n,).
    """

    times: tuple[float, ...]
    before: tuple[Array, ...]
    after: tuple[Array, ...]
    initial: Array

    @classmethod
    def empty(cls, initial: Array) -> Self:
        """Return the history before the first sample.

        Args:
            initial: the signal before the first sample, shape (n,).
        """
        return cls((), (), (), read_only_copy(initial))

    def with_sample(self, t: float, before: Array, after: Array, keep: float) -> SignalHistory:
        """Return the history with one more sample, and without those that are older than needed.

        Args:
            t: time of the sample, not before the last one [s].
            before: the signal just before the sample, shape (n,).
            after: the signal just after the sample, shape (n,).
            keep: length of the history that is needed [s].
        """
        again = bool(self.times) and t == self.times[-1]
        times = self.times if again else (*self.times, t)
        befores = self.before if again else (*self.before, read_only_copy(before))
        afters = (*self.after[:-1], read_only_copy(after)) if again else (*self.after, read_only_copy(after))
        first = max(bisect_left(times, t - keep) - 2, 0)
        initial = self.initial if first == 0 else afters[first - 1]
        return SignalHistory(times[first:], befores[first:], afters[first:], initial)

    def at(self, when: float, now: float, present: Array) -> Array:
        """Return the signal at a time in the past, shape (n,).

        If that is the time of a sample, it is the signal just after the sample if the present time is a sample as well,
        and just before it if the present time lies after the last sample: so a step from one sample to the next does
        not contain a jump at its end that belongs to the next step.

        Args:
            when: time in the past [s].
            now: present time, not before the last sample [s].
            present: the signal at the present time, shape (n,).
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
    """Memory of :class:`Delay`.

    Attributes:
        commands: history of the commands of the law.
        states: history of the states (q, v).
    """

    commands: SignalHistory
    states: SignalHistory


class Delay(SignalWrapper[DelayMemory]):
    """u(t) = c(t − τ), c(t) = law(t, q(t − τ_m), v(t − τ_m)).

    The law's output and the state are interpolated linearly between samples, and the output may jump at samples: so the
    delay of a continuous law and of a law that is constant between samples is accurate to second order in the step, for
    any τ, longer or shorter than a step. Before the first sample the output is the initial one and the state that of
    the first sample.
    """

    needs_commands = True

    def __init__(
        self, controller: Controller, time: float = 0.0, *, measurement: float = 0.0, initial: ArrayLike = 0.0
    ) -> None:
        """Delay a law.

        Args:
            controller: the controller inside.
            time: τ, delay of the output [s].
            measurement: τ_m, delay of the measured state [s].
            initial: output until the first delayed one arrives, a number or shape (n,).

        Raises:
            ModelError: for a negative time, or an initial output of the wrong shape.
        """
        super().__init__(controller)
        self.time = not_negative("time", time)
        self.measurement = not_negative("measurement", measurement)
        self.initial = vector_argument("initial", initial, self.size, "one for each output", infinite=False)
        self.reset()

    def record_sample(self, memory: DelayMemory | None, t: float, q: Array, v: Array) -> DelayMemory:
        """Record the state."""
        state = np.concatenate([q, v])
        if memory is None:
            memory = DelayMemory(SignalHistory.empty(self.initial), SignalHistory.empty(state))
        return replace(memory, states=memory.states.with_sample(t, state, state, self.measurement))

    def measured_state(self, memory: DelayMemory | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the state τ_m ago."""
        if memory is None:
            raise self.no_sample_error()
        if self.measurement == 0.0:
            return q, v
        past = memory.states.at(t - self.measurement, t, np.concatenate([q, v]))
        return past[: len(q)], past[len(q) :]

    def record_command(self, memory: DelayMemory | None, t: float, before: Array, after: Array) -> DelayMemory | None:
        """Record the law's output."""
        if memory is None:
            return None
        return replace(memory, commands=memory.commands.with_sample(t, before, after, self.time))

    def applied_output(self, memory: DelayMemory | None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output τ ago."""
        if memory is None:
            raise self.no_sample_error()
        if self.time == 0.0:
            return command, ""
        return memory.commands.at(t - self.time, t, command), ""
