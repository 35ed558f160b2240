"""Dead time of the input and of the measurement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import not_negative
from ..controller import Controller
from .entries import finite_entries
from .history import History
from .signal_wrapper import SignalWrapper

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Delayed:
    """What is remembered.

    Attributes:
        commands: what the law said.
        states: where the motion was, (q, v).
    """

    commands: History
    states: History


class Delay(SignalWrapper[Delayed]):
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
        self.initial = finite_entries("initial", initial, self.size, "one for each output")
        self.reset()

    def read(self, own: Delayed | None, t: float, q: Array, v: Array) -> Delayed:
        """Keep the state."""
        state = np.concatenate([q, v])
        if own is None:
            own = Delayed(History.empty(self.initial), History.empty(state))
        return replace(own, states=own.states.with_sample(t, state, state, self.measurement))

    def measured(self, own: Delayed | None, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The state τ_m ago."""
        if own is None:
            raise self.no_sample_yet()
        if self.measurement == 0.0:
            return q, v
        seen = own.states.at(t - self.measurement, t, np.concatenate([q, v]))
        return seen[: len(q)], seen[len(q) :]

    def take(self, own: Delayed | None, t: float, before: Array, after: Array) -> Delayed | None:
        """Keep the law's output."""
        if own is None:
            return None
        return replace(own, commands=own.commands.with_sample(t, before, after, self.time))

    def shaped(self, own: Delayed | None, t: float, command: Array) -> tuple[Array, str]:
        """The output τ ago."""
        if own is None:
            raise self.no_sample_yet()
        if self.time == 0.0:
            return command, ""
        return own.commands.at(t - self.time, t, command), ""
