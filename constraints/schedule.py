"""When a constraint is on: intervals of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from ..symbolic.arrays import finite
from ..symbolic.errors import ModelError


@dataclass(frozen=True)
class Schedule:
    """Intervals of time, each from its start on and up to, but without, its end.

    In a program its times become parameters ``constraint.on1``, ``constraint.off1``, ``constraint.on2``, …, so that a
    study may shift them; an interval whose end comes before its start is empty.

    Attributes:
        intervals: pairs (start, end) in order, which do not overlap [s]; the last end may be infinite.

    Raises:
        ModelError: for no interval, one that is empty, or intervals that are not in order.
    """

    intervals: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        """Check the times."""
        try:
            pairs = tuple((start, end) for start, end in self.intervals)
        except (TypeError, ValueError) as error:
            raise ModelError(f"a schedule is made of pairs (start, end), got {self.intervals!r}") from error
        if not pairs:
            raise ModelError("a schedule needs at least one interval (start, end), got none")
        before = -math.inf
        for i, (start, end) in enumerate(pairs):
            finite(f"start of interval {i + 1}", start)
            if end != math.inf:
                finite(f"end of interval {i + 1}", end)
            if not start < end:
                raise ModelError(f"interval {i + 1} of a schedule must end after it starts, got ({start}, {end})")
            if start < before:
                raise ModelError(f"intervals must follow each other: one ends at {before}, the next starts at {start}")
            before = end
        object.__setattr__(self, "intervals", tuple((float(start), float(end)) for start, end in pairs))

    @property
    def times(self) -> Mapping[str, float]:
        """Nominal times by name [s]; an infinite end has none."""
        named: dict[str, float] = {}
        for i, (start, end) in enumerate(self.intervals, 1):
            named[f"on{i}"] = start
            if end != math.inf:
                named[f"off{i}"] = end
        return named

    def condition(self, t: ca.SX, times: Mapping[str, ca.SX]) -> ca.SX:
        """An expression that is 1 in the intervals and 0 outside.

        Args:
            t: time [s].
            times: the symbol of each of :attr:`times`.
        """
        on = ca.SX(0)
        for i in range(1, len(self.intervals) + 1):
            inside = t >= times[f"on{i}"]
            if f"off{i}" in times:
                inside = ca.logic_and(inside, t < times[f"off{i}"])
            on = ca.logic_or(on, inside)
        return on
