"""When within one step an event happens."""

from __future__ import annotations

from collections.abc import Callable

from .crossing import first_positive
from .events_watch import State, Suspicion, extreme

Ends = tuple[float, float]
"""Value and rate of an event's expression at one instant."""
Look = Callable[[float], Ends]
"""Value and rate after a part of the step, from a step of that length."""
REFINEMENTS = 4
"""Times that a peak between samples is sought more closely, if the cubic says that it is above zero."""


def locate(look: Look, length: float, begin: Ends, end: Ends, suspicion: Suspicion, tolerance: float) -> float | None:
    """Length of the step's part after which an event happens; None if it does not happen in it.

    Args:
        look: takes the step anew.
        length: of the step [s].
        begin: value and rate at its begin.
        end: value and rate at its end.
        suspicion: how the event stands at the begin, and where to look first.
        tolerance: of the time [s].
    """

    def value(x: float) -> float:
        return look(x)[0]

    if suspicion.guess is None:
        return first_positive(value, (0.0, begin[0]), (length, end[0]), tolerance)
    if suspicion.state is State.ARMED:
        return _over_a_peak(look, length, begin, end, suspicion.guess, tolerance)
    place = suspicion.guess * length
    at = look(place)
    if at[0] <= 0.0:
        return first_positive(value, (place, at[0]), (length, end[0]), tolerance)
    if suspicion.state is State.PASSED or end[1] < 0.0:
        return None
    return _turn(look, length, begin, end, tolerance)


def _over_a_peak(look: Look, length: float, begin: Ends, end: Ends, guess: float, tolerance: float) -> float | None:
    """What rises above zero and falls below it within the step."""
    low, high, at_low, at_high = 0.0, length, begin, end
    for _ in range(REFINEMENTS):
        place = low + guess * (high - low)
        at = look(place)
        if at[0] > 0.0:
            return first_positive(lambda x: look(x)[0], (0.0, begin[0]), (place, at[0]), tolerance)
        if at[1] > 0.0:
            low, at_low = place, at
        else:
            high, at_high = place, at
        guess, height = extreme(*at_low, *at_high, high - low, highest=True)
        if not height > 0.0:
            return None
    return None


def _turn(look: Look, length: float, begin: Ends, end: Ends, tolerance: float) -> float:
    """Where what was on its way back turns round, or where it rises through zero after all."""
    below: list[float] = []

    def rate(x: float) -> float:
        value, speed = look(x)
        if value <= 0.0:
            below.append(x)
        return speed

    turned = length
    if begin[1] < 0.0 < end[1]:
        turned = first_positive(rate, (0.0, begin[1]), (length, end[1]), tolerance)
    if not below:
        return turned
    place = max(below)
    return first_positive(lambda x: look(x)[0], (place, look(place)[0]), (length, end[0]), tolerance)
