"""The instant at which a condition comes to hold, inside the step in which it was first seen to hold."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from ..controllers.status import Status
from .simulator import Simulator, Values
from .trajectory import SimulationError, SimulationInterrupted, Trajectory

SAMPLED = ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status")


class RepeatedStep:
    """The last step of a run, to be taken anew with shorter lengths.

    Attributes:
        run: with at least two samples.
        start: time of the last sample but one [s].
        length: of the step [s].
    """

    def __init__(
        self, simulator: Simulator, run: Trajectory, p: Values, controller_p: Values, memory: object | None = None
    ) -> None:
        """Keep where the step begins.

        Args:
            simulator: what made the run.
            run: with at least two samples.
            p: the plant's parameters of the run.
            controller_p: the controller's parameters of the run.
            memory: what the controller remembered before it took in the last sample but one.
        """
        self.run, self._simulator, self._p, self._controller_p, self._memory = run, simulator, p, controller_p, memory
        self.start = float(run.t[-2])
        self.length = float(run.t[-1]) - self.start

    def take(self, length: float) -> Trajectory:
        """The step with another length, two samples.

        Args:
            length: greater than zero [s].

        Raises:
            SimulationError: if it fails; the run up to the step is attached.
            SimulationInterrupted: on Ctrl-C, likewise.
        """
        if self._simulator.controller is not None:
            self._simulator.controller.memory = self._memory
        q, v = self.run.q[-2], self.run.v[-2]
        try:
            return self._simulator.run(
                q, v, length, step=length, p=self._p, controller_p=self._controller_p, t0=self.start, restart=False
            )
        except SimulationError as error:
            before = _until(self.run, self.start, error.status, str(error))
            raise SimulationError(str(error), before, error.status) from error
        except SimulationInterrupted as interrupt:
            raise SimulationInterrupted(_until(self.run, self.start, None, "interrupted")) from interrupt

    def cut(self, length: float, ending: str) -> Trajectory:
        """The run with its last sample moved back.

        Args:
            length: of the last step now, greater than zero [s].
            ending: why it ends there.
        """
        # Anew even if it was tried before: what the controller remembers is to be what it remembers there.
        last, run = self.take(length), self.run
        if length == self.length:
            return run
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(run, name)[:-1], getattr(last, name)[-1:]]) for name in SAMPLED
        }
        kept = _said(run, self.start)
        if last.status[-1] != run.status[-2]:
            # What was said at the sample before is there already.
            kept += tuple(note for note in last.notes if note[0] > self.start)
        return dataclasses.replace(run, **arrays, notes=kept, ending=ending)

    def tolerance(self, tolerance: float) -> float:
        """The tolerance of a time in the step; never less than rounding.

        Args:
            tolerance: that was asked for [s].
        """
        return float(max(tolerance, 4 * np.spacing(abs(self.start) + self.length)))


def cut_at_zero_crossing(
    simulator: Simulator, run: Trajectory, condition: ca.SX, tolerance: float, p: Values, controller_p: Values
) -> Trajectory:
    """The run with its last sample moved back to the instant from which on the condition is positive.

    The last step is taken anew with shorter lengths, halved and interpolated in turn, until the sample is at most the
    tolerance behind the instant. What the integrator itself errs by in a step comes on top.

    Args:
        simulator: what made the run.
        run: ends at the first sample at which the condition is positive.
        condition: scalar expression.
        tolerance: of the time [s]; never less than rounding.
        p: the plant's parameters of the run.
        controller_p: the controller's parameters of the run.

    Raises:
        SimulationError: if the step fails when it is taken anew; the run up to it is attached.
        SimulationInterrupted: on Ctrl-C; the run up to the step is attached.
    """
    if len(run) < 2:
        return run
    step = RepeatedStep(simulator, run, p, controller_p, simulator.memory)

    def value(length: float) -> float:
        return float(step.take(length).evaluate(condition)[-1])

    before, after = (float(x) for x in run.evaluate(condition)[-2:])
    length = first_positive(value, (0.0, before), (step.length, after), step.tolerance(tolerance))
    return step.cut(length, f"the condition holds from t = {step.start + length:.9g} s on")


def truncated(run: Trajectory, count: int, ending: str) -> Trajectory:
    """The first samples of a run.

    Args:
        run: any.
        count: how many samples stay, at least one.
        ending: why it ends there.
    """
    if count == len(run):
        return dataclasses.replace(run, ending=ending)
    arrays: dict[str, Any] = {name: getattr(run, name)[:count].copy() for name in SAMPLED}
    return dataclasses.replace(run, **arrays, notes=_said(run, float(run.t[count - 1])), ending=ending)


def _until(run: Trajectory, start: float, status: Status | None, ending: str) -> Trajectory:
    """A run without its last step, which failed with a status, or was broken off."""
    arrays: dict[str, Any] = {name: getattr(run, name)[:-1].copy() for name in SAMPLED}
    if status is not None:
        arrays["status"][-1] = status
    return dataclasses.replace(run, **arrays, notes=_said(run, start), ending=ending)


def _said(run: Trajectory, until: float) -> tuple[tuple[float, str], ...]:
    return tuple(note for note in run.notes if note[0] <= until)


def first_positive(
    value: Callable[[float], float], below: tuple[float, float], above: tuple[float, float], tolerance: float
) -> float:
    """A place at which a function is positive, at most the tolerance behind one at which it is not.

    Args:
        value: the function.
        below: a place and the value there, not positive.
        above: a later place and the value there, positive.
        tolerance: distance of the two places at the end.
    """
    (low, at_low), (high, at_high) = below, above
    halve = False
    while high - low > tolerance:
        place = (low + high) / 2
        if not halve and at_high > at_low and math.isfinite(at_high - at_low):
            # A little past the straight line's zero, so that the bracket closes from both sides.
            line = low + (high - low) * (-at_low) / (at_high - at_low)
            place = min(max(line + tolerance / 4, low + tolerance / 4), high - tolerance / 4)
        found = value(place)
        halve = not halve
        if found > 0.0:
            high, at_high = place, found
        else:
            low, at_low = place, found
    return high
