"""Sample and hold: a law computed at ticks and held between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError
from ...symbolic.validation import finite_time, positive, read_only_copy
from ..controller import Controller, Observation
from ..sample_clock import SampleClock
from .wrapper import Values, Wrapper, is_usage_error, tick_error

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HoldMemory:
    """Memory of :class:`SampleAndHold`.

    Attributes:
        clock: times of the ticks.
        observation: observation of the law at the last tick; None if the law raised.
        error: error of the law at the last tick; None without an error.
    """

    clock: SampleClock
    observation: Observation | None
    error: EruginError | None


class SampleAndHold(Wrapper[HoldMemory]):
    """u(t) = law(t_k, q(t_k), v(t_k)) for t_k ≤ t < t_{k+1}, with t_k = t₀ + k T and t₀ the first sample.

    The law inside gets one sample per tick. If no sample of a simulation falls on a tick, the first one after it is
    used: choose a step that divides the period. A step longer than the period raises ModelError. An error of the law at
    a tick remains until the next tick.
    """

    def __init__(self, controller: Controller, period: float) -> None:
        """Sample a law.

        Args:
            controller: the controller inside, computed at ticks.
            period: sampling period T [s].

        Raises:
            ModelError: for a period that is not positive.
        """
        super().__init__(controller)
        self.period = positive("period", period)
        self.reset()

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Process a sample, and compute the law if it is a tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if samples are further apart than ticks.
            EruginError: if the law inside raises it.
        """
        memory, time, owner = self.recall(), finite_time("t", t), type(self).__name__
        clock = SampleClock(time, time) if memory is None else memory.clock.at(time, self.period, owner)
        ticks = memory is None or clock.index > memory.clock.index
        if memory is None or ticks:
            try:
                self.inner.advance(time, q, v, p)
                observation = self.inner.observe(time, q, v, p)
            except EruginError as error:
                if not is_usage_error(error):
                    self.remember(HoldMemory(clock, None, error))
                raise
            self.remember(
                HoldMemory(
                    clock,
                    replace(observation, output=read_only_copy(observation.output)),
                    tick_error(self.inner, observation, time, q, v, p),
                )
            )
            return
        self.remember(replace(memory, clock=clock))
        self.arguments(t, q, v, p)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """Return the output of the law at the last tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: if the law raised it at that tick.
            ModelError: before the first sample.
        """
        memory = self.recall()
        self.arguments(t, q, v, p)
        if memory is None:
            raise self.no_sample_error()
        if memory.error is not None or memory.observation is None:
            raise memory.error or self.no_sample_error()
        return memory.observation.output.copy()

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """Return the observation of the law at the last tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        memory = self.recall()
        self.arguments(t, q, v, p)
        if memory is None:
            raise self.no_sample_error()
        if memory.observation is None:
            raise memory.error or self.no_sample_error()
        return replace(memory.observation, output=memory.observation.output.copy())
