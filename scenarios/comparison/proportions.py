"""Success rates, and differences of success rates on the same runs, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from .estimate import Estimate, two_sided

HALVINGS = 60


def wilson(successes: int, runs: int, confidence: float) -> Estimate:
    """Return a share with Wilson's score interval [Wilson1927]_: all p that |p̂ − p| ≤ z √(p(1 − p)/n) accepts.

    Args:
        successes: number of successes.
        runs: number of runs n.
        confidence: confidence of the interval.
    """
    z = two_sided(confidence)
    if runs == 0:
        return Estimate(math.nan, 0.0, 1.0)
    share, z2 = successes / runs, z * z
    center = (share + z2 / (2 * runs)) / (1 + z2 / runs)
    half = z / (1 + z2 / runs) * math.sqrt(share * (1 - share) / runs + z2 / (4 * runs * runs))
    low = 0.0 if successes == 0 else center - half
    return Estimate(share, low, 1.0 if successes == runs else center + half)


def newcombe(both: int, first: int, second: int, neither: int, confidence: float) -> Estimate:
    """Return the difference of two shares of the same runs, by Newcombe's method 10 [Newcombe1998]_.

    Args:
        both: number of runs in which both succeed.
        first: number of runs in which only the first succeeds.
        second: number of runs in which only the second succeeds.
        neither: number of runs in which neither succeeds.
        confidence: confidence of the interval.
    """
    n = both + first + second + neither
    if n == 0:
        two_sided(confidence)
        return Estimate(math.nan, -1.0, 1.0)
    one, other = wilson(both + first, n, confidence), wilson(both + second, n, confidence)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    cross = float(both * neither - first * second)
    if cross > 0.0:
        cross = max(cross - n / 2.0, 0.0)
    phi = cross / math.sqrt(margins) if margins else 0.0
    difference = one.value - other.value

    def reach(a: float, b: float) -> float:
        return math.sqrt(max(a * a - 2.0 * phi * a * b + b * b, 0.0))

    low = difference - reach(one.value - one.low, other.high - other.value)
    high = difference + reach(one.high - one.value, other.value - other.low)
    return Estimate(difference, max(low, -1.0), min(high, 1.0))


def tango(wins: int, losses: int, runs: int, confidence: float) -> Estimate:
    """Return (wins − losses)/n with Tango's score interval [Tango1998]_.

    The interval contains all Δ that the score test, with the maximum-likelihood variance under Δ, does not reject.

    Args:
        wins: number of runs that count +1.
        losses: number of runs that count −1.
        runs: number of runs n; the others count 0.
        confidence: confidence of the interval.
    """
    z = two_sided(confidence)
    if runs == 0:
        return Estimate(math.nan, -1.0, 1.0)
    estimate = (wins - losses) / runs

    def score(delta: float) -> float:
        a, c = 2.0 * runs, -losses * delta * (1.0 - delta)
        b = -wins - losses + (2.0 * runs - wins + losses) * delta
        likely = (math.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
        variance = runs * (2.0 * likely + delta * (1.0 - delta))
        away = wins - losses - runs * delta
        return away / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, away) if away else 0.0

    low = _crossing(score, z, -1.0, estimate)
    return Estimate(estimate, low, _crossing(score, -z, estimate, 1.0))


def _crossing(score: Callable[[float], float], level: float, low: float, high: float) -> float:
    """Return the argument at which a decreasing function crosses a level; the nearest end if it does not."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if score(middle) > level else (low, middle)
    return 0.5 * (low + high)


Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rates:
    """Shares of runs with an outcome.

    Attributes:
        outcome: name of the outcome.
        flags: True for the runs with this outcome, by controller, shape (n,) each.
        confidence: confidence of each interval.
    """

    outcome: str
    flags: Mapping[str, Flags]
    confidence: float

    def share(self, controller: str) -> Estimate:
        """Return the share of the runs, with Wilson's interval.

        Args:
            controller: name of the controller.

        Raises:
            ModelError: for an unknown controller.
        """
        flags = self._of(controller)
        return wilson(int(np.count_nonzero(flags)), len(flags), self.confidence)

    def difference(self, first: str, second: str) -> Estimate:
        """Return the share of the first minus that of the second, with Newcombe's interval for pairs.

        Args:
            first: name of a controller.
            second: name of another one.

        Raises:
            ModelError: for an unknown controller.
        """
        a, b = self._of(first), self._of(second)
        both, first_only, second_only, neither = (
            int(np.count_nonzero(each)) for each in (a & b, a & ~b, ~a & b, ~a & ~b)
        )
        return newcombe(both, first_only, second_only, neither, self.confidence)

    def _of(self, controller: str) -> Flags:
        if controller not in self.flags:
            raise ModelError(unknown_name("controller", controller, self.flags))
        return self.flags[controller]
