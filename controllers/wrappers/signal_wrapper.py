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
    """u(t) = shaped(t, c), c = law(t, measured(t, q, v)).

    A sample is first read, then taken in by the law; then what the law says, just before and just after, becomes known
    to what shapes the output. A sample that the law refuses counts as one: clocks go on, and noise is drawn; one that
    is not finite is handed on to the law and changes nothing here.

    What changes one of the two only is a :class:`~erugin.controllers.wrappers.signal_wrapper.SensorWrapper` or a
    :class:`~erugin.controllers.wrappers.signal_wrapper.ActuatorWrapper`.
    """

    takes_commands: ClassVar[bool] = False
    """Whether what shapes the output must know what the law says at samples."""

    def read(self, own: MemoryT | None, t: float, q: Array, v: Array) -> MemoryT | None:
        """What is remembered once a sample is read.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return own

    @abstractmethod
    def measured(self, own: MemoryT | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """What the law sees of a state.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """

    def take(self, own: MemoryT | None, t: float, before: Array, after: Array) -> MemoryT | None:
        """What is remembered once the law has taken in a sample.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            before: what the law says just before, shape (n,).
            after: just after, shape (n,).
        """
        return own

    @abstractmethod
    def shaped(self, own: MemoryT | None, t: float, command: Array) -> tuple[Array, str]:
        """What becomes of the law's output, and a sentence if it does not get what it asks for.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            command: what the law says, shape (n,).
        """

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Take in a sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            NotFiniteInputError: if it has a number that is not finite.
        """
        own = new = self.recall()
        try:
            try:
                time, x, w = self.state(t, q, v)
            except NotFiniteInputError:
                self.inner.advance(t, q, v, p)
                raise
            before = self._until(own, time, x, w, p)
            new = read = self.read(own, time, x, w)
            seen = self.measured(read, time, x, w)
            self.inner.advance(time, *seen, p)
            if self.takes_commands:
                after = self.inner.control(time, *seen, p)
                if np.isfinite(after).all():
                    new = self.take(read, time, after if before is None else before, after)
        finally:
            self.remember(new)

    def _until(self, own: MemoryT | None, t: float, q: Array, v: Array, p: Values) -> Array | None:
        """What the law said just before a sample; None if it says the same just after, or said nothing."""
        if not self.takes_commands or own is None or self.inner.memory is None:
            return None
        try:
            before = self.inner.control(t, *self.measured(own, t, q, v), p)
        except EruginError:
            # It may have refused the sample before, and must still be shown this one.
            return None
        return before if np.isfinite(before).all() else None

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """The output at one instant.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: what the law inside raises.
            ModelError: if there was no sample before.
        """
        own = self.recall()
        time, x, w = self.state(t, q, v)
        return self.shaped(own, time, self.inner.control(time, *self.measured(own, time, x, w), p))[0]

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """What the law inside tells, with the output that is applied.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        own = self.recall()
        time, x, w = self.state(t, q, v)
        told = self.inner.observe(time, *self.measured(own, time, x, w), p)
        if not np.isfinite(told.output).all():
            return told
        return replace_output(told, *self.shaped(own, time, told.output))


def replace_output(told: Observation, output: Array, said: str) -> Observation:
    """What the law inside told, with the output that is applied instead.

    Args:
        told: by the law inside.
        output: what is applied.
        said: by how much it had to differ; empty if it had not.
    """
    if not said:
        return replace(told, output=output)
    status = Status.HELD if told.status is Status.HELD else Status.LIMITED
    return replace(told, output=output, status=status, message=" ".join(filter(None, (said, told.message))))


class ActuatorWrapper(SignalWrapper[MemoryT]):
    """u(t) = shaped(t, law(t, q, v))."""

    def measured(self, own: MemoryT | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state as it is.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return q, v


class SensorWrapper(SignalWrapper[MemoryT]):
    """u(t) = law(t, measured(t, q, v))."""

    def shaped(self, own: MemoryT | None, t: float, command: Array) -> tuple[Array, str]:
        """The law's output as it is.

        Args:
            own: what is remembered; None before there is any.
            t: time [s].
            command: what the law says, shape (n,).
        """
        return command, ""
