"""Detection of events: which event of a mode happens first along samples, and when within the step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ...symbolic.kernel_map import evaluate_each
from ..trajectory import Trajectory
from ..zero_crossing import first_positive
from .modes import Event

Array = NDArray[np.float64]


class EventState(Enum):
    """State of an event where its expression is positive, or was when its mode started."""

    ARMED = "it was at zero or below"
    RETURNING = "positive and falling from the start: on its way back"
    PASSED = "it has happened and is still positive"


class EventMonitor:
    """Values and rates of the expressions of events along samples.

    Attributes:
        events: the events in order; the first wins if two happen at the same instant.
    """

    def __init__(self, robot: Robot, controller: Controller | None, events: Sequence[Event]) -> None:
        """Build the kernels of values and rates.

        Args:
            robot: the plant of the mode.
            controller: the controller, or None.
            events: events of the mode.
        """
        self.events = tuple(events)
        c = robot.coordinates
        values = ca.vertcat(ca.SX(0, 1), *(event.rising for event in self.events))
        rates, applied = c.rate(values), robot.u
        if ca.depends_on(rates, c.a):
            if controller is not None and controller.applies_force:
                applied = ca.SX.sym("force", c.nv)
                a = robot.acceleration_under(applied)[0]
            elif controller is None:
                a = robot.acceleration_under(ca.SX.zeros(c.nv))[0]
            else:
                a = robot.acceleration
            rates = ca.substitute(rates, c.a, a)
        if controller is None:
            applied = ca.SX(0, 1)
        elif controller.applies_force and applied is robot.u:
            applied = ca.SX.sym("force", c.nv)
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "u": applied, "p": robot.p}
        self._places: list[int] = []
        if controller is not None:
            self._places, symbols["c"] = controller.parameters.beyond(robot.parameters)
        self._controlled = controller is not None
        outputs = {"values": values, "rates": ca.densify(rates)}
        self._kernel = Kernel("events", symbols, outputs, compiled=False)
        self._start = Kernel("events_now", {k: v for k, v in symbols.items() if k != "u"}, {"values": values},
                             compiled=False)  # fmt: skip

    def now(self, t: float, q: Array, v: Array, p: Array, controller_p: Array) -> Array:
        """Return the values at one state, shape (k,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the plant's parameters, shape (np,).
            controller_p: the controller's parameters, shape (number of them,).
        """
        extra = [controller_p[self._places]] if self._controlled else []
        return np.atleast_1d(self._start(t, q, v, p, *extra)[0])

    def along(self, run: Trajectory) -> tuple[Array, Array]:
        """Return values and rates at the samples of a run, shape (N, k) each.

        Args:
            run: run of the mode.
        """
        extra = [run.controller_p[None, self._places]] if self._controlled else []
        u = run.u if self._controlled else np.zeros((len(run), 0))
        values, rates = evaluate_each(self._kernel, [run.t[:, None], run.q, run.v, u, run.p[None], *extra], None)
        return values, rates


def initial_state(value: float, rate: float, rate_before: float | None, *, jumped: bool = False) -> EventState | None:
    """Return the state of an event at the start of its mode; None if it happens at once.

    Args:
        value: value of its expression at the start.
        rate: rate of its expression at the start.
        rate_before: for the event that has just happened, the rate before the jump; otherwise None.
        jumped: True if that event had a jump.
    """
    if not value > 0.0:
        return EventState.ARMED
    # A rate within rounding of zero after a jump counts neither as returning nor as rising.
    rest = 0.0 if rate_before is None else 1e-9 * abs(rate_before)
    if rate < -rest:
        return EventState.RETURNING
    if rate_before is None:
        return None
    # A zero rate without a jump, as at a turning point, is not the result of a jump.
    return EventState.PASSED if rate > rest or (rate >= rate_before and not jumped) else None


@dataclass(frozen=True)
class EventCandidate:
    """A step in which an event may happen.

    Attributes:
        index: index of the sample at which the step starts.
        state: state of the event at that sample.
        guess: fraction of the step after which to evaluate the event; None if the values at both ends show that it
            happens.
    """

    index: int
    state: EventState
    guess: float | None


def first_candidate(
    times: Array, values: Array, rates: Array, state: EventState, begin: int = 0
) -> EventCandidate | None:
    """Return the first step in which an event happens, or may happen between the samples, or None.

    A cubic through values and rates at both ends detects an expression that rises and falls again within a step.

    Args:
        times: times of the samples, shape (N,) [s].
        values: values of the event's expression, shape (N,).
        rates: rates of the event's expression, shape (N,).
        state: state of the event at the sample ``begin``.
        begin: index of the first step to check.
    """
    i, n = begin, len(times) - 1
    with np.errstate(invalid="ignore"):
        bump = (values[:-1] <= 0.0) & (values[1:] <= 0.0) & (rates[:-1] > 0.0) & (rates[1:] < 0.0)
    possible = (values[1:] > 0.0) | bump
    while i < n:
        if state is EventState.ARMED:
            found = np.flatnonzero(possible[i:])
            if not found.size:
                return None
            i += int(found[0])
            if values[i + 1] > 0.0:
                return EventCandidate(i, state, None)
        ends = (float(values[i]), float(rates[i]), float(values[i + 1]), float(rates[i + 1]))
        h = float(times[i + 1] - times[i])
        if state is EventState.ARMED:
            place, height = extreme(*ends, h, highest=True)
            if height > 0.0:
                return EventCandidate(i, state, place)
        elif values[i + 1] <= 0.0:
            state = EventState.ARMED
        else:
            place, height = extreme(*ends, h, highest=False)
            if state is EventState.RETURNING and not rates[i + 1] < 0.0:
                return EventCandidate(i, state, place)
            if height <= 0.0:
                return EventCandidate(i, state, place)
        i += 1
    return None


def extreme(v0: float, r0: float, v1: float, r1: float, h: float, *, highest: bool) -> tuple[float, float]:
    """Return the extreme of the cubic through values and rates at the ends of a step, and its value.

    Args:
        v0: value at the start.
        r0: rate at the start.
        v1: value at the end.
        r1: rate at the end.
        h: length of the step.
        highest: True for the maximum, False for the minimum.

    Returns:
        The fraction of the step in (0, 1) and the cubic's value; 0.5 and NaN if there is no such extreme inside.
    """
    d = v1 - v0
    a, b, c = h * (r0 + r1) - 2.0 * d, 3.0 * d - h * (2.0 * r0 + r1), h * r0
    if not all(map(math.isfinite, (a, b, c))):
        return 0.5, math.nan
    if a == 0.0:
        roots = [] if b == 0.0 else [-c / (2.0 * b)]
    else:
        under = b * b - 3.0 * a * c
        if under < 0.0:
            return 0.5, math.nan
        # The stable pair of roots of 3 a s² + 2 b s + c.
        w = -(b + math.copysign(math.sqrt(under), b))
        roots = [w / (3.0 * a), c / w if w else math.inf]
    sign = 1.0 if highest else -1.0
    inside = [s for s in roots if 0.0 < s < 1.0 and sign * (6.0 * a * s + 2.0 * b) < 0.0]
    if not inside:
        return 0.5, math.nan
    return inside[0], ((a * inside[0] + b) * inside[0] + c) * inside[0] + v0


ValueAndRate = tuple[float, float]
"""Value and rate of an event's expression at one instant."""
Probe = Callable[[float], ValueAndRate]
"""Function that returns value and rate after part of the step, from a step of that length."""
REFINEMENTS = 4
"""Number of refinements of a peak between samples while the cubic predicts that it is above zero."""


def locate_event(
    evaluate: Probe, length: float, begin: ValueAndRate, end: ValueAndRate, candidate: EventCandidate, tolerance: float
) -> float | None:
    """Return the length of the part of the step after which an event happens; None if it does not.

    Args:
        evaluate: function that repeats the step with another length.
        length: length of the step [s].
        begin: value and rate at its start.
        end: value and rate at its end.
        candidate: state of the event at the start, and where to evaluate it first.
        tolerance: accuracy of the time [s].
    """

    def value(x: float) -> float:
        return evaluate(x)[0]

    if candidate.guess is None:
        return first_positive(value, (0.0, begin[0]), (length, end[0]), tolerance)
    if candidate.state is EventState.ARMED:
        return _over_a_peak(evaluate, length, begin, end, candidate.guess, tolerance)
    place = candidate.guess * length
    at = evaluate(place)
    if at[0] <= 0.0:
        return first_positive(value, (place, at[0]), (length, end[0]), tolerance)
    if candidate.state is EventState.PASSED or end[1] < 0.0:
        return None
    return _turn(evaluate, length, begin, end, tolerance)


def _over_a_peak(
    evaluate: Probe, length: float, begin: ValueAndRate, end: ValueAndRate, guess: float, tolerance: float
) -> float | None:
    """Return the first instant above zero of an expression that rises and falls within the step."""
    low, high, at_low, at_high = 0.0, length, begin, end
    for _ in range(REFINEMENTS):
        place = low + guess * (high - low)
        at = evaluate(place)
        if at[0] > 0.0:
            return first_positive(lambda x: evaluate(x)[0], (0.0, begin[0]), (place, at[0]), tolerance)
        if at[1] > 0.0:
            low, at_low = place, at
        else:
            high, at_high = place, at
        guess, height = extreme(*at_low, *at_high, high - low, highest=True)
        if not height > 0.0:
            return None
    return None


def _turn(evaluate: Probe, length: float, begin: ValueAndRate, end: ValueAndRate, tolerance: float) -> float:
    """Return the instant at which a returning expression turns round, or at which it rises through zero after all."""
    below: list[float] = []

    def rate(x: float) -> float:
        value, speed = evaluate(x)
        if value <= 0.0:
            below.append(x)
        return speed

    turned = length
    if begin[1] < 0.0 < end[1]:
        turned = first_positive(rate, (0.0, begin[1]), (length, end[1]), tolerance)
    if not below:
        return turned
    place = max(below)
    return first_positive(lambda x: evaluate(x)[0], (place, evaluate(place)[0]), (length, end[0]), tolerance)
