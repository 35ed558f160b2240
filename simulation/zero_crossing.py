"""Instant at which a condition becomes positive, inside the step at whose end it was found positive."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from ..controllers.status import Status
from .initial_conditions import Values
from .simulator import Simulator
from .trajectory import SAMPLED, SimulationError, SimulationInterrupted, Trajectory


class RepeatedStep:
    """The last step of a run, to be repeated with shorter lengths.

    Attributes:
        run: run with at least two samples.
        start: time of the last sample but one [s].
        length: length of the step [s].
    """

    def __init__(
        self, simulator: Simulator, run: Trajectory, p: Values, controller_p: Values, memory: object | None = None
    ) -> None:
        """Store the start of the step.

        Args:
            simulator: the simulator that computed the run.
            run: run with at least two samples.
            p: the plant's parameters in the run.
            controller_p: the controller's parameters in the run.
            memory: the controller's memory before it observed the last sample but one.
        """
        self.run, self._simulator, self._p, self._controller_p, self._memory = run, simulator, p, controller_p, memory
        self.start = float(run.t[-2])
        self.length = float(run.t[-1]) - self.start

    def repeat(self, length: float) -> Trajectory:
        """Repeat the step with another length; return its two samples.

        Args:
            length: length of the step, greater than zero [s].

        Raises:
            SimulationError: if the step fails; the run up to the step is attached.
            SimulationInterrupted: on Ctrl-C; the run up to the step is attached.
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
        """Return the run with its last sample moved back.

        Args:
            length: new length of the last step, greater than zero [s].
            ending: reason for which it ends there.
        """
        # Repeated even if it was tried before: the controller's memory must be the one at this instant.
        last, run = self.repeat(length), self.run
        if length == self.length:
            return run
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(run, name)[:-1], getattr(last, name)[-1:]]) for name in SAMPLED
        }
        kept = _notes_until(run, self.start)
        if last.status[-1] != run.status[-2]:
            # Notes of the previous sample are already included.
            kept += tuple(note for note in last.notes if note[0] > self.start)
        return dataclasses.replace(run, **arrays, notes=kept, ending=ending)

    def tolerance(self, tolerance: float) -> float:
        """Return the tolerance of a time in the step, at least the rounding error.

        Args:
            tolerance: requested tolerance [s].
        """
        return float(max(tolerance, 4 * np.spacing(abs(self.start) + self.length)))


def cut_at_zero_crossing(
    simulator: Simulator, run: Trajectory, condition: ca.SX, tolerance: float, p: Values, controller_p: Values
) -> Trajectory:
    """Return the run with its last sample moved back to the instant at which the condition becomes positive.

    The last step is repeated with shorter lengths, halved and interpolated in turn, until the sample is at most the
    tolerance after the instant. The integrator's own error in a step adds to that.

    Args:
        simulator: the simulator that computed the run.
        run: run that ends at the first sample at which the condition is positive.
        condition: scalar expression.
        tolerance: accuracy of the time [s]; at least the rounding error.
        p: the plant's parameters in the run.
        controller_p: the controller's parameters in the run.

    Raises:
        SimulationError: if the repeated step fails; the run up to it is attached.
        SimulationInterrupted: on Ctrl-C; the run up to the step is attached.
    """
    if len(run) < 2:
        return run
    step = RepeatedStep(simulator, run, p, controller_p, simulator.memory)

    def value(length: float) -> float:
        return float(step.repeat(length).evaluate(condition)[-1])

    before, after = (float(x) for x in run.evaluate(condition)[-2:])
    length = first_positive(value, (0.0, before), (step.length, after), step.tolerance(tolerance))
    return step.cut(length, f"the condition holds from t = {step.start + length:.9g} s on")


def truncated(run: Trajectory, count: int, ending: str) -> Trajectory:
    """Return the first samples of a run.

    Args:
        run: the run.
        count: number of samples to keep, at least one.
        ending: reason for which it ends there.
    """
    if count == len(run):
        return dataclasses.replace(run, ending=ending)
    arrays: dict[str, Any] = {name: getattr(run, name)[:count].copy() for name in SAMPLED}
    return dataclasses.replace(run, **arrays, notes=_notes_until(run, float(run.t[count - 1])), ending=ending)


def _until(run: Trajectory, start: float, status: Status | None, ending: str) -> Trajectory:
    """Return a run without its last step, which failed with a status or was interrupted."""
    arrays: dict[str, Any] = {name: getattr(run, name)[:-1].copy() for name in SAMPLED}
    if status is not None:
        arrays["status"][-1] = status
    return dataclasses.replace(run, **arrays, notes=_notes_until(run, start), ending=ending)


def _notes_until(run: Trajectory, until: float) -> tuple[tuple[float, str], ...]:
    return tuple(note for note in run.notes if note[0] <= until)


def first_positive(
    value: Callable[[float], float], below: tuple[float, float], above: tuple[float, float], tolerance: float
) -> float:
    """Return an argument at which a function is positive, at most the tolerance after one at which it is not.

    Args:
        value: the function.
        below: an argument and the value there, not positive.
        above: a later argument and the value there, positive.
        tolerance: distance between the two arguments at the end.
    """
    (low, at_low), (high, at_high) = below, above
    halve = False
    while high - low > tolerance:
        middle = (low + high) / 2
        if not halve and at_high > at_low and math.isfinite(at_high - at_low):
            # Slightly past the zero of the straight line, so that the bracket closes from both sides.
            line = low + (high - low) * (-at_low) / (at_high - at_low)
            middle = min(max(line + tolerance / 4, low + tolerance / 4), high - tolerance / 4)
        found = value(middle)
        halve = not halve
        if found > 0.0:
            high, at_high = middle, found
        else:
            low, at_low = middle, found
    return high
