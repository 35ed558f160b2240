"""Whether the events of a motion come together, infinitely many in a finite time, as the bounces of a ball do."""

from __future__ import annotations

import itertools
import math

CROWD = 100
"""Events that are too many for the shortest time."""


class Accumulation:
    """The times of the last events.

    Two signs: four times between events that fall as a geometric series does, the last shorter than ``shortest``; or a
    hundred events within ``shortest``, at one instant among others. Two events that only happen to come together, after
    others that came ever faster, are no series: the last quotient of times is then much smaller than those before.
    """

    def __init__(self, shortest: float) -> None:
        """No event yet.

        Args:
            shortest: time between two events that is as good as none [s].
        """
        self._shortest = shortest
        self._times: list[float] = []
        self._settled: dict[str, float] = {}

    def take(self, t: float) -> float | None:
        """Take in an event.

        Args:
            t: its time [s].

        Returns:
            The time at which events accumulate, if they do: the limit of the geometric series of the last two times
            between events, or else this one [s].
        """
        self._times = [*self._times[-CROWD + 1 :], t]
        between = [after - before for before, after in itertools.pairwise(self._times[-5:])]
        if len(between) == 4 and 0.0 < between[-1] < self._shortest and min(between) > 0.0:
            shares = [later / earlier for earlier, later in itertools.pairwise(between)]
            even = all(later > earlier / 2.0 for earlier, later in itertools.pairwise(shares))
            if even and max(shares) < 1.0:
                return t + between[-1] * shares[-1] / (1.0 - shares[-1])
        if len(self._times) == CROWD and t - self._times[0] < self._shortest:
            return t
        return None

    def settle(self, mode: str, t: float) -> bool:
        """Forget the events so far, because a mode takes over; whether it may, for it has not just done so already.

        Args:
            mode: its name.
            t: time [s].
        """
        allowed = not t - self._settled.get(mode, -math.inf) < self._shortest
        self._settled[mode], self._times = t, []
        return allowed
