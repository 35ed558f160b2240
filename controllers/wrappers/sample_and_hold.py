"""Sample and hold: a law computed at ticks and held between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import EruginError
from ...symbolic.validation import finite_time, positive
from ..controller import Controller, Observation
from ..sample_clock import SampleClock
from .vector_arguments import read_only_copy
from .wrapper import Values, Wrapper, is_usage_error, tick_error

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HoldMemory:
    """What is remembered.

    Attributes:
        clock: when it ticked.
        told: by the law at the last tick; None if it refused.
        error: why it refused; None if it did not.
    """

    clock: SampleClock
    told: Observation | None
    error: EruginError | None


class SampleAndHold(Wrapper[HoldMemory]):
    """u(t) = law(t_k, q(t_k), v(t_k)) for t_k ≤ t < t_{k+1}, with t_k = t₀ + k T and t₀ the first sample.

    The law inside sees one sample per tick. Where no sample of a simulation falls on a tick, the first one after it is
    taken: choose a step that divides the period. A step longer than the period is refused. What the law refuses at a
    tick stays refused until the next.
    """

    def __init__(self, controller: Controller, period: float) -> None:
        """Sample a law.

        Args:
            controller: what is computed at ticks.
            period: T [s].

        Raises:
            ModelError: for a period that is not positive.
        """
        super().__init__(controller)
        self.period = positive("period", period)
        self.reset()

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> None:
        """Take in a sample, and compute the law if it is a tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if samples come less often than ticks.
            EruginError: what the law inside raises.
        """
        own, time, who = self.recall(), finite_time("t", t), type(self).__name__
        clock = SampleClock(time, time) if own is None else own.clock.at(time, self.period, who)
        ticks = own is None or clock.index > own.clock.index
        if own is None or ticks:
            try:
                self.inner.advance(time, q, v, p)
                told = self.inner.observe(time, q, v, p)
            except EruginError as error:
                if not is_usage_error(error):
                    self.remember(HoldMemory(clock, None, error))
                raise
            self.remember(
                HoldMemory(
                    clock,
                    replace(told, output=read_only_copy(told.output)),
                    tick_error(self.inner, told, time, q, v, p),
                )
            )
            return
        self.remember(replace(own, clock=clock))
        self.arguments(t, q, v, p)

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Array:
        """What the law said at the last tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            EruginError: what the law raised then.
            ModelError: if there was no sample before.
        """
        own = self.recall()
        self.arguments(t, q, v, p)
        if own is None:
            raise self.no_sample_yet()
        if own.error is not None or own.told is None:
            raise own.error or self.no_sample_yet()
        return own.told.output.copy()

    def observe(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> Observation:
        """What the law told at the last tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        own = self.recall()
        self.arguments(t, q, v, p)
        if own is None:
            raise self.no_sample_yet()
        if own.told is None:
            raise own.error or self.no_sample_yet()
        return replace(own.told, output=own.told.output.copy())
