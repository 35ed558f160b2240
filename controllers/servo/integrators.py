"""What integrators before the inputs hold, from sample to sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntegratorMemory:
    """Contents of integrators at a sample, and how they change.

    Attributes:
        time: of the sample [s]; None before the first.
        held: contents, shape (n,).
        rate: of the contents at the sample, shape (n,).
        slope: of those rates at the sample, by the last three samples, shape (n,).
        curve: half of their second derivative, likewise, shape (n,).
        interval: since the sample before [s]; zero at the first.
    """

    time: float | None
    held: Array
    rate: Array
    slope: Array
    curve: Array
    interval: float = 0.0

    def __post_init__(self) -> None:
        """Copy the arrays and make them read-only."""
        for name in ("held", "rate", "slope", "curve"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def empty(cls, count: int) -> IntegratorMemory:
        """Before the first sample.

        Args:
            count: n.
        """
        nothing = np.zeros(count)
        return cls(None, nothing, nothing, nothing, nothing)

    def at(self, time: float) -> Array:
        """Contents at a time after the sample, with rates that go on as they do, shape (n,).

        Args:
            time: [s].
        """
        s = 0.0 if self.time is None else time - self.time
        return np.asarray(self.held + s * self.rate + s**2 / 2 * self.slope + s**3 / 3 * self.curve)

    def advanced(self, time: float, rates: Callable[[Array], Array], start: Array | None) -> IntegratorMemory:
        """At the next sample, by the Adams–Moulton rule of order 3: rates lie on a parabola through three samples.

        Args:
            time: of the sample [s], not before the last one.
            rates: contents there → their rates there, both of shape (n,).
            start: contents at the first sample, shape (n,); None at others.
        """
        before = self.time
        if before is None or start is not None or time == before:
            held = self.held if start is None else start
            return IntegratorMemory(time, held, rates(held), np.zeros(held.size), np.zeros(held.size))
        h = time - before
        # Foreseen by the parabola of the intervals before, then corrected by that which ends here.
        foreseen = rates(self.at(time))
        held = self.held + h / 2 * (self.rate + foreseen) - h**3 / 6 * self._bend(foreseen, h)
        rate = rates(held)
        curve = self._bend(rate, h)
        return IntegratorMemory(time, held, rate, (rate - self.rate) / h + h * curve, curve, h)

    def _bend(self, rate: Array, h: float) -> Array:
        """The second divided difference of the rates at the two samples before and one a time h later."""
        if self.interval == 0.0:
            return np.zeros(rate.size)
        last = self.slope - self.interval * self.curve
        return np.asarray(((rate - self.rate) / h - last) / (h + self.interval))
