"""Calls timed side by side: interleaved rounds, medians and quartiles."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WAITING = 0.02
"""Least share of the time of a call with which it counts in the choice of how often it is repeated."""
Call = Callable[[], object]
ROUND = 0.005
"""Seconds for which one call is repeated in each round."""
SHARE, TRIES, LONG = 0.97, 6, 2.0
"""Least share of a measurement that this process must have had a core; how often one of less than LONG s is tried."""


@dataclass(frozen=True, eq=False)
class Timing:
    """Seconds of one call in each round, shape (rounds,); an empty loop's share is not taken off."""

    seconds: Array

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def quartiles(self) -> tuple[float, float]:
        low, high = np.percentile(self.seconds, [25, 75])
        return float(low), float(high)

    def over(self, other: Timing) -> float:
        """Median over the rounds of this time divided by the other's: what slows a whole round down cancels."""
        return float(np.median(self.seconds / other.seconds))

    def per(self, count: float) -> Timing:
        """Seconds for one of ``count`` equal parts of the call."""
        return Timing(self.seconds / count)

    def show(self, unit: float = 1e-6) -> str:
        """Median and, in brackets, quartiles, in ``unit`` seconds, to three digits."""
        low, high = self.quartiles
        return f"{number(self.median / unit)} ({number(low / unit)}–{number(high / unit)})"


def number(value: float, digits: int = 3) -> str:
    """A positive number to so many digits, without an exponent between 1e-3 and 1e6."""
    if value != value:
        return "–"
    if value == 0.0 or not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    return f"{value:.{max(0, digits - 1 - int(np.floor(np.log10(abs(value)))))}f}"


def repeated(call: Call, count: int) -> float:
    """Seconds of ``count`` calls by the loop that everyone is timed with."""
    return _both_clocks(call, count)[0]


def undisturbed(call: Call, count: int) -> float:
    """The same, tried again while others keep this process from its core; the least disturbed of all tries."""
    tries: list[tuple[float, float]] = []
    for _ in range(TRIES):
        wall, busy = _both_clocks(call, count)
        tries.append((busy / wall, wall))
        if busy >= SHARE * wall or wall > LONG:
            break
    return max(tries)[1]


def side_by_side(calls: Mapping[str, Call], rounds: int, least: float = ROUND) -> dict[str, Timing]:
    """Time calls in turn, round by round, every other round backwards, without garbage collection.

    A measurement during which other processes had the core is taken again, for whichever side it is.

    Args:
        calls: what is timed, by name; each is called once, and then until ``least`` is reached, to warm up.
        rounds: how many.
        least: seconds for which each call is repeated in a round; one call if it takes longer.
    """
    counts: dict[str, int] = {}
    for name, call in calls.items():
        count, taken = 1, _own_time(call, 1)
        while taken < least / 2:
            count = max(2 * count, min(16 * count, round(count * least / max(taken, 1e-9))))
            taken = _own_time(call, count)
        counts[name] = max(1, round(count * least / taken))
    found: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for turn in range(rounds):
            for name in list(calls)[:: 1 if turn % 2 == 0 else -1]:
                found[name].append(undisturbed(calls[name], counts[name]) / counts[name])
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(np.array(seconds)) for name, seconds in found.items()}


def _own_time(call: Call, count: int) -> float:
    """Seconds of ``count`` calls without those in which others had the core: they would make a round too short, and
    then what it measures is how cold the caches are. What waits for another process counts with a share."""
    wall, busy = _both_clocks(call, count)
    return min(wall, max(busy, WAITING * wall))


def _both_clocks(call: Call, count: int) -> tuple[float, float]:
    """Seconds that passed, and seconds for which this process, all its threads together, had a core."""
    busy, began = time.process_time(), time.perf_counter()
    for _ in itertools.repeat(None, count):
        call()
    return time.perf_counter() - began, time.process_time() - busy
