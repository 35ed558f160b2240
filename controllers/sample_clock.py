"""Sample clock: ticks of a digital controller among samples that need not fall on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.errors import ModelError

NEAR = 1e-9
"""Share of a period by which a sample may come before a tick and still count as being at it."""


def elapsed(owner: str, before: float, t: float) -> float:
    """Return the time since the previous sample [s].

    Args:
        owner: name of the controller, for the message.
        before: time of the previous sample [s].
        t: time of this sample [s].

    Raises:
        ModelError: if this sample is earlier than the previous one.
    """
    if t < before:
        raise ModelError(
            f"{owner} got a sample at t = {t:g} s after one at t = {before:g} s: samples must come in the order of "
            "time; call reset() before a new run"
        )
    return t - before


NumbersT = TypeVar("NumbersT", float, "NDArray[np.float64]", ca.SX)


def ticks(since: NumbersT, period: float) -> NumbersT:
    """Return the number of ticks after the first, of which the whole part counts.

    Args:
        since: time since the first sample [s].
        period: T [s].
    """
    return since / period * (1.0 + 1e-14) + NEAR


@dataclass(frozen=True)
class SampleClock:
    """Ticks at t₀ + k T, k = 0, 1, …, where t₀ is the time of the first sample.

    Attributes:
        start: t₀ [s].
        last: time of the last sample [s].
        index: k of the last tick.
    """

    start: float
    last: float
    index: int = 0

    def at(self, t: float, period: float, owner: str) -> SampleClock:
        """Return the clock after one more sample; its index is greater if a tick has come.

        Args:
            t: time of the sample [s].
            period: T [s].
            owner: name of the controller, for messages.

        Raises:
            ModelError: if the sample is earlier than the one before, or later by more than a period.
        """
        gap = elapsed(owner, self.last, t)
        if gap > (1.0 + NEAR) * period + 4 * math.ulp(t):
            raise ModelError(
                f"{owner} ticks every {period:g} s, but samples are {gap:g} s apart: use a step of at most "
                f"{period:g} s, preferably one that divides it, or a longer period"
            )
        return SampleClock(self.start, t, max(self.index, math.floor(ticks(t - self.start, period))))
