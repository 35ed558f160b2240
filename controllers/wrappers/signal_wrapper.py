"""The abstract wrappers of signals: changes of the measured state, of the output, or of both."""

from __future__ import annotations

import functools
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ..controller import Tick
from ..status import Status
from .wrapper import MemoryT, Wrapper, WrapperMemory, evaluate_inside, memory_inside

Array = NDArray[np.float64]


class SignalWrapper(Wrapper[MemoryT]):
    """u(t) = applied_output(t, c), c = law(t, measured_state(t, q, v)).

    A sample is first recorded, then processed by the law; then the command of the law just before and just after the
    sample is recorded. A sample that the law refuses still counts: clocks advance, and noise is drawn. One that is not
    finite is passed to the law and changes nothing here.

    A wrapper that changes only one of the two signals is a
    :class:`~erugin.controllers.wrappers.signal_wrapper.SensorWrapper` or an
    :class:`~erugin.controllers.wrappers.signal_wrapper.ActuatorWrapper`.
    """

    needs_commands: ClassVar[bool] = False
    """True if the applied output depends on the commands of the law at samples."""

    def record_sample(self, memory: MemoryT | None, t: float, q: Array, v: Array) -> MemoryT | None:
        """Return the memory after a sample.

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return memory

    @abstractmethod
    def measured_state(self, memory: MemoryT | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the state that the law measures, (q, v).

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """

    def record_command(self, memory: MemoryT | None, t: float, before: Array, after: Array) -> MemoryT | None:
        """Return the memory after the law has processed a sample.

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            before: command of the law just before the sample, shape (n,).
            after: command of the law just after the sample, shape (n,).
        """
        return memory

    @abstractmethod
    def applied_output(self, memory: MemoryT | None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output that is applied, and a sentence if it is not what the law commands.

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            command: output of the law, shape (n,).
        """

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside at the measured state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the wrapper and of the law inside.
        """
        parts, inner_p = self.parts(memory), self._inner_parameters(p)
        after = None if memory is None else functools.partial(self._after, t, q, v, inner_p, parts)
        known = bool(np.isfinite(q).all() and np.isfinite(v).all())
        try:
            state = self.measured_state(parts.outer, t, q, v) if known else (q, v)
            tick = evaluate_inside(self.inner, t, *state, inner_p, parts.inner)
            if parts.error is not None:
                tick = replace(tick, error=parts.error)
            if tick.error is None and np.isfinite(tick.output).all():
                tick = replace_output(tick, *self.applied_output(parts.outer, t, tick.output))
        except ModelError as error:
            if parts.outer is not None:
                raise
            tick = Tick(np.full(self.size, np.nan), error=error)
        return replace(tick, memory=after, deviation=self.true_deviation(t, q, v, inner_p, parts.inner))

    def _after(self, t: float, q: Array, v: Array, p: Array, parts: WrapperMemory[MemoryT]) -> WrapperMemory[MemoryT]:
        """Return the memory after a sample."""
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            inner, error = memory_inside(self.inner, t, q, v, p, parts.inner)
            return WrapperMemory(parts.outer, inner, error)
        before = self._before(t, q, v, p, parts)
        recorded = self.record_sample(parts.outer, t, q, v)
        state = self.measured_state(recorded, t, q, v)
        inner, error = memory_inside(self.inner, t, *state, p, parts.inner)
        if error is None and self.needs_commands:
            tick = evaluate_inside(self.inner, t, *state, p, inner)
            error = tick.error
            if error is None and np.isfinite(tick.output).all():
                recorded = self.record_command(recorded, t, tick.output if before is None else before, tick.output)
        return WrapperMemory(recorded, inner, error)

    def _before(self, t: float, q: Array, v: Array, p: Array, parts: WrapperMemory[MemoryT]) -> Array | None:
        """Command of the law just before a sample; None if it is the same just after, or unknown."""
        if not self.needs_commands or parts.outer is None or parts.inner is None:
            return None
        # The law may have refused the previous sample, and must still process this one.
        tick = evaluate_inside(self.inner, t, *self.measured_state(parts.outer, t, q, v), p, parts.inner)
        return tick.output if tick.error is None and np.isfinite(tick.output).all() else None


def replace_output(tick: Tick, output: Array, message: str) -> Tick:
    """Return a tick with the output that is applied, and the status LIMITED if it differs.

    Args:
        tick: tick of the law inside.
        output: output that is applied.
        message: sentence on the difference; empty otherwise.
    """
    if not message:
        return replace(tick, output=output)
    status = Status.HELD if tick.status is Status.HELD else Status.LIMITED
    return replace(
        tick, output=output, status=status, explanation=lambda: " ".join(filter(None, (message, tick.message)))
    )


class ActuatorWrapper(SignalWrapper[MemoryT]):
    """u(t) = applied_output(t, law(t, q, v))."""

    def measured_state(self, memory: MemoryT | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the true state.

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return q, v


class SensorWrapper(SignalWrapper[MemoryT]):
    """u(t) = law(t, measured_state(t, q, v))."""

    def applied_output(self, memory: MemoryT | None, t: float, command: Array) -> tuple[Array, str]:
        """Return the output of the law.

        Args:
            memory: memory of the wrapper; None before the first sample.
            t: time [s].
            command: output of the law, shape (n,).
        """
        return command, ""
