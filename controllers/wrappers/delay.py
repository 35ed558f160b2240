"""Dead time of the input and of the measurement."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.validation import not_negative, vector_argument
from ..controller import Controller
from ..law import select
from .signal_wrapper import Memory, SignalWrapper

Array = NDArray[np.float64]
NEAR = 8 * 2.0**-52
"""Share of a time by which two times may differ and still count as equal."""


class Delay(SignalWrapper):
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

    def capacity(self, period: float) -> int:
        """Return the number of samples within the longer delay, and two beyond it.

        Args:
            period: time between samples [s].
        """
        return math.ceil(max(self.time, self.measurement) / period * (1.0 - 1e-9)) + 2

    def layout(self, capacity: int) -> Mapping[str, int]:
        """Return the sizes of the times of past samples, and of both signals just before and just after them."""
        sizes: dict[str, int] = {}
        for name, width in self._signals().items():
            sizes |= {f"{name}_times": capacity}
            sizes |= {f"{name}_before": capacity * width, f"{name}_after": capacity * width}
        return sizes

    def first(self, t: ca.SX, q: ca.SX, v: ca.SX) -> Mapping[str, ca.SX]:
        """Return a past without changes: the initial output, and the state of the first sample."""
        values = {"command": ca.SX(self.initial), "state": ca.vertcat(q, v)}
        past: dict[str, ca.SX] = {}
        for name in self._signals():
            past |= {f"{name}_times": t, f"{name}_before": values[name], f"{name}_after": values[name]}
        return past

    def record_sample(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX, w: ca.SX) -> Mapping[str, ca.SX]:
        """Record the state."""
        state = ca.vertcat(q, v)
        return self._with_sample(m, "state", t, state, state)

    def measured_state(self, m: Memory, t: ca.SX, q: ca.SX, v: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the state τ_m ago."""
        past = self._at(m, "state", t - self.measurement, t, ca.vertcat(q, v))
        return past[: q.numel()], past[q.numel() :]

    def record_command(self, m: Memory, t: ca.SX, before: ca.SX, after: ca.SX) -> Mapping[str, ca.SX]:
        """Record the law's output."""
        return self._with_sample(m, "command", t, before, after)

    def applied_output(self, m: Memory, t: ca.SX, command: ca.SX) -> ca.SX:
        """Return the output τ ago."""
        return self._at(m, "command", t - self.time, t, command)

    def with_room(self, z: Array, t: float) -> Array:
        """Return the memory, with twice the length if the next sample would push out one that is still needed.

        Args:
            z: memory.
            t: time of the sample [s].
        """
        parts = self.memory_layout(len(z)).numbers(z)
        for name, delay in (("command", self.time), ("state", self.measurement)):
            times = parts.get(f"{name}_times")
            # Entries from before the first sample have its time.
            if times is None or z[0] == 0.0 or times[1] < t - delay or (len(times) > 2 and times[1] == times[2]):
                continue
            longer = {"count": parts["count"]}
            for kind, width in self._signals().items():
                after = np.tile(parts[f"{kind}_after"][:width], len(times))
                longer[f"{kind}_times"] = np.concatenate([np.full(len(times), times[0]), parts[f"{kind}_times"]])
                longer[f"{kind}_before"] = np.concatenate([after, parts[f"{kind}_before"]])
                longer[f"{kind}_after"] = np.concatenate([after, parts[f"{kind}_after"]])
            return np.concatenate(list(longer.values()))
        return z

    def _signals(self) -> dict[str, int]:
        """Sizes of the signals that are delayed, by name."""
        c = self.robot.coordinates
        sizes = {"command": self.size * (self.time > 0.0), "state": (c.nq + c.nv) * (self.measurement > 0.0)}
        return {name: size for name, size in sizes.items() if size}

    def _with_sample(self, m: Memory, name: str, t: ca.SX, before: ca.SX, after: ca.SX) -> Mapping[str, ca.SX]:
        """Return the past of a signal with one more sample, in place of the oldest; nothing if it is not delayed."""
        if name not in self._signals():
            return {}
        times, befores, afters = (m[f"{name}_{part}"] for part in ("times", "before", "after"))
        again, n = t == times[-1], after.numel()
        return {
            f"{name}_times": select(again, times, ca.vertcat(times[1:], t)),
            f"{name}_before": select(again, befores, ca.vertcat(befores[n:], before)),
            f"{name}_after": select(again, ca.vertcat(afters[:-n], after), ca.vertcat(afters[n:], after)),
        }

    def _at(self, m: Memory, name: str, when: ca.SX, now: ca.SX, present: ca.SX) -> ca.SX:
        """Return a signal at a time in the past; the present signal if it is not delayed.

        If that is the time of a sample, it is the signal just after the sample if the present time is a sample as well,
        and just before it if the present time lies after the last sample: so a step from one sample to the next does
        not contain a jump at its end that belongs to the next step.
        """
        if name not in self._signals():
            return present
        times, befores, afters = (m[f"{name}_{part}"] for part in ("times", "before", "after"))
        count, n = times.numel(), present.numel()
        near = NEAR * ca.fmax(ca.fabs(now), ca.fabs(times[0]))
        at_sample = now <= times[-1] + near
        begin, end, start, value = times[0], times[0], afters[:n], afters[:n]
        for i in range(count):
            passed = ca.if_else(at_sample, times[i] <= when + near, times[i] < when - near)
            last = i + 1 == count
            begin, end = select(passed, times[i], begin), select(passed, now if last else times[i + 1], end)
            start = select(passed, afters[i * n : (i + 1) * n], start)
            value = select(passed, present if last else befores[(i + 1) * n : (i + 2) * n], value)
        length = end - begin
        share = ca.fmin(ca.fmax((when - begin) / length, 0.0), 1.0)
        return select(length <= near, start, start + share * (value - start))
