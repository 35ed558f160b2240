"""The abstract wrappers of signals: changes of the measured state, of the output, or of both."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError, NotFiniteInputError
from ..controller import Observation
from ..status import Status
from .wrapper import MemoryT, Values, Wrapper

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

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process a sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            NotFiniteInputError: for a number that is not finite.
        """
        memory = new = self.recall()
        try:
            try:
                time, x, w = self.state(t, q, v)
            except NotFiniteInputError:
                self.inner.advance(t, q, v, p)
                raise
            before = self._until(memory, time, x, w, p)
            new = recorded = self.record_sample(memory, time, x, w)
            measured = self.measured_state(recorded, time, x, w)
            self.inner.advance(time, *measured, p)
            if self.needs_commands:
                after = self.inner.control(time, *measured, p)
                if np.isfinite(after).all():
                    new = self.record_command(recorded, time, after if before is None else before, after)
        finally:
            self.remember(new)

    def _until(self, memory: MemoryT | None, t: float, q: Array, v: Array, p: Values) -> Array | None:
        """Command of the law just before a sample; None if it is the same just after, or unknown."""
        if not self.needs_commands or memory is None or self.inner.memory is None:
            return None
        try:
            before = self.inner.control(t, *self.measured_state(memory, t, q, v), p)
        except EruginError:
            # The law may have refused the previous sample, and must still process this one.
            return None
        return before if np.isfinite(before).all() else None

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return the output at one instant.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law inside raises it.
            ModelError: before the first sample.
        """
        memory = self.recall()
        time, x, w = self.state(t, q, v)
        return self.applied_output(memory, time, self.inner.control(time, *self.measured_state(memory, time, x, w), p))[
            0
        ]

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """Return the observation of the law inside, with the output that is applied.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        memory = self.recall()
        time, x, w = self.state(t, q, v)
        observation = self.inner.observe(time, *self.measured_state(memory, time, x, w), p)
        if not np.isfinite(observation.output).all():
            return observation
        return replace_output(observation, *self.applied_output(memory, time, observation.output))


def replace_output(observation: Observation, output: Array, message: str) -> Observation:
    """Return an observation with the output that is applied, and the status LIMITED if it differs.

    Args:
        observation: observation of the law inside.
        output: output that is applied.
        message: sentence on the difference; empty otherwise.
    """
    if not message:
        return replace(observation, output=output)
    status = Status.HELD if observation.status is Status.HELD else Status.LIMITED
    return replace(
        observation, output=output, status=status, message=" ".join(filter(None, (message, observation.message)))
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
