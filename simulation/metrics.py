"""Metrics of a run: integrals, means, extremes, settling time and total variation of expressions or recorded signals.

They are accumulated during the run, so that no sample has to be stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, require_name
from ..symbolic.parameters import NO_PARAMETERS
from ..symbolic.pickling import Picklable
from .sample_window import SampleWindow

Array = NDArray[np.float64]
SignalName = Literal["deviation", "energy", "not_ok"]


@dataclass(frozen=True)
class RecordedSignal:
    """A quantity recorded at every sample, used in place of a metric's expression.

    Attributes:
        what: the quantity: ``"deviation"``, the Euclidean norm of the deviations of all rows; ``"energy"``, T + V [J];
            ``"not_ok"``, 1 where the controller's status is not OK and 0 where it is.

    Raises:
        ModelError: for another name.
    """

    what: SignalName

    def __post_init__(self) -> None:
        """Check the name."""
        if self.what not in get_args(SignalName):
            raise ModelError(f"a recorded signal must be one of {', '.join(get_args(SignalName))}; got {self.what!r}")

    def require(self, name: str, controller: Controller | None) -> None:
        """Raise ModelError if a run does not record this quantity.

        Args:
            name: name of the metric, for the message.
            controller: the controller, or None.
        """
        if self.what == "deviation" and (controller is None or not controller.rows):
            reason = "nothing drives the motion" if controller is None else f"{type(controller).__name__} has no rows"
            raise ModelError(f"metric {name!r} requires deviations, but {reason}")

    def values(self, window: SampleWindow) -> Array:
        """Return the values of a window's lanes, shape (k, n).

        Args:
            window: samples of runs side by side.
        """
        recorded = window.data["status" if self.what == "not_ok" else self.what]
        if len(window.lanes) != len(recorded):
            recorded = recorded[window.lanes]
        if self.what == "energy":
            return np.ascontiguousarray(recorded[:, :, 0])
        if self.what == "not_ok":
            # A symbolic law records no status: a run under it ends where it is not OK.
            return np.asarray((recorded != int(Status.OK)).any(axis=2), dtype=np.float64)
        total = np.zeros(recorded.shape[:2])
        # Row by row, so that the sum does not depend on how many lanes there are.
        for i in range(recorded.shape[2]):
            total += recorded[:, :, i] * recorded[:, :, i]
        return np.asarray(np.sqrt(total), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Metric(Picklable, ABC):
    """A number that characterizes a whole run, computed from an expression along it.

    It uses every sample up to the end of the run, whether or not the sample is stored. Integrals over time follow the
    trapezoidal rule, ∫ g dt ≈ h (g₀/2 + g₁ + … + g_N/2): exact where g is affine in time, otherwise with an error of
    order h².

    Attributes:
        expression: scalar in the plant's symbols t, q, v, p, u (the input that the controller applies) and in the
            controller's parameters; or a :class:`RecordedSignal`.
    """

    expression: ca.SX | RecordedSignal

    def begin(self, value: Array) -> Array:
        """Return the accumulated value after the first sample; by default the value itself.

        Args:
            value: expression at the first sample, shape (lanes,).
        """
        return value

    @abstractmethod
    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the accumulated value after each of the next samples, shape (lanes, n).

        Args:
            carried: accumulated value so far, shape (lanes,).
            before: expression at the previous sample, shape (lanes,).
            values: expression at the samples, shape (lanes, n).
            step: interval between samples [s].
        """

    def result(self, carried: Array, value: Array, duration: Array) -> Array:
        """Return the metric, shape (lanes,); by default the accumulated value.

        Args:
            carried: accumulated value at the last sample, shape (lanes,).
            value: expression at the last sample, shape (lanes,).
            duration: time from the first sample to the last, shape (lanes,) [s].
        """
        return carried


@dataclass(frozen=True, eq=False)
class Integral(Metric):
    """∫ g dt."""

    def begin(self, value: Array) -> Array:
        """Return zero."""
        return np.zeros_like(value)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the integral up to each sample."""
        return _integrals(carried, before, values, step)


@dataclass(frozen=True, eq=False)
class Mean(Metric):
    """(1/T) ∫ g dt; of a single sample, g."""

    def begin(self, value: Array) -> Array:
        """Return zero."""
        return np.zeros_like(value)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the integral up to each sample."""
        return _integrals(carried, before, values, step)

    def result(self, carried: Array, value: Array, duration: Array) -> Array:
        """Return the integral divided by the duration."""
        return _over(carried, duration, value)


@dataclass(frozen=True, eq=False)
class RootMeanSquare(Metric):
    """√((1/T) ∫ g² dt); of a single sample, |g|. The trapezoidal rule is applied to g²."""

    def begin(self, value: Array) -> Array:
        """Return zero."""
        return np.zeros_like(value)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the integral of the square up to each sample."""
        return _integrals(carried, before * before, values * values, step)

    def result(self, carried: Array, value: Array, duration: Array) -> Array:
        """Return the root of the integral divided by the duration."""
        return np.asarray(np.sqrt(_over(carried, duration, value * value)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Largest(Metric):
    """Largest g over all samples."""

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the largest value up to each sample."""
        return np.asarray(np.maximum(np.maximum.accumulate(values, axis=1), carried[:, None]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Least(Metric):
    """Smallest g over all samples."""

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the smallest value up to each sample."""
        return np.asarray(np.minimum(np.minimum.accumulate(values, axis=1), carried[:, None]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Final(Metric):
    """g at the last sample."""

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the values themselves."""
        return values


class MetricTotals:
    """Metrics of parallel runs, accumulated sample by sample."""

    def __init__(self, metrics: Sequence[Metric], lanes: int, step: float) -> None:
        """Start with no samples.

        Args:
            metrics: the metrics, in the order in which their expressions are recorded.
            lanes: number of runs.
            step: interval between samples [s].
        """
        self._metrics, self._step = metrics, step
        expressed = np.cumsum([not isinstance(metric.expression, RecordedSignal) for metric in metrics]) - 1
        self._places: list[int] = expressed.tolist()
        self._carried = np.zeros((lanes, len(metrics)))
        self._before = np.zeros((lanes, len(metrics)))

    def add(self, window: SampleWindow, last: NDArray[np.int64]) -> Array:
        """Add the samples of a window, those of each lane up to its last.

        Args:
            window: samples that follow those of the previous call.
            last: index in the window of each lane's last sample, shape (lanes of the record,).

        Returns:
            The metrics of the window's lanes so far, shape (k, number of metrics).
        """
        lanes, step = window.lanes, self._step
        ends, each = last[lanes], np.arange(len(lanes))
        recorded, values = window.data["metrics"], np.empty((len(lanes), len(self._metrics)))
        recorded = recorded if len(lanes) == len(recorded) else recorded[lanes]
        duration = np.asarray((window.first + ends) * step, dtype=np.float64)
        with np.errstate(all="ignore"):
            for k, metric in enumerate(self._metrics):
                if isinstance(metric.expression, RecordedSignal):
                    g = metric.expression.values(window)
                else:
                    g = np.ascontiguousarray(recorded[:, :, self._places[k]])
                if window.first == 0:
                    begun = metric.begin(g[:, 0])
                    after = np.column_stack([begun, metric.follow(begun, g[:, 0], g[:, 1:], step)])
                else:
                    after = metric.follow(self._carried[lanes, k], self._before[lanes, k], g, step)
                self._carried[lanes, k], self._before[lanes, k] = after[each, ends], g[each, ends]
                values[:, k] = metric.result(after[each, ends], g[each, ends], duration)
        return values


def integrands(robot: Robot, controller: Controller | None, metrics: Mapping[str, Metric]) -> ca.SX:
    """Expressions of metrics, shape (k,), without those of recorded signals.

    Args:
        robot: the plant.
        controller: the controller, or None.
        metrics: the metrics by name.

    Raises:
        ModelError: if an entry is not a metric or not a scalar, uses foreign symbols or accelerations, or uses u
            where a controller applies forces.
    """
    if not isinstance(metrics, Mapping):
        raise ModelError(f'metrics= must be a mapping from names, as in {{"effort": Integral(...)}}, got {metrics!r}')
    expressions = [ca.SX(0, 1)]
    for name, metric in metrics.items():
        require_name("a metric", name)
        if not isinstance(metric, Metric):
            raise ModelError(f"metric {name!r} must be a Metric, such as Integral(expression), got {metric!r}")
        expression = metric.expression
        if isinstance(expression, RecordedSignal):
            expression.require(name, controller)
            continue
        if not isinstance(expression, ca.SX) or expression.shape != (1, 1):
            raise ModelError(f"metric {name!r} must have a scalar expression, got {expression!r}")
        what = f"metric {name!r}"
        robot.require_own_symbols(what, expression, controller.parameters if controller else NO_PARAMETERS)
        if ca.depends_on(expression, robot.coordinates.a):
            raise ModelError(f"{what} may use time, coordinates, velocities, inputs and parameters, not accelerations")
        if controller is not None and controller.applies_force and ca.depends_on(expression, robot.u):
            raise ModelError(
                f"{what} uses inputs, but {type(controller).__name__} applies generalized forces R and no inputs: use "
                'a controller that acts through inputs, such as realization="actuated"'
            )
        expressions.append(expression)
    return ca.vertcat(*expressions)


def _integrals(carried: Array, before: Array, values: Array, step: float) -> Array:
    """Integrals up to each sample, summed in the order of time so that the result does not depend on blocks."""
    sums = np.empty((len(values), values.shape[1] + 1))
    sums[:, 0], strips = carried, sums[:, 1:]
    strips[:, :1], strips[:, 1:] = before[:, None], values[:, :-1]
    strips += values
    strips *= step / 2
    np.add.accumulate(sums, axis=1, out=sums)
    return strips


def _over(integral: Array, duration: Array, value: Array) -> Array:
    return np.where(duration > 0.0, integral / np.where(duration > 0.0, duration, 1.0), value)


ABOVE = -1.0
"""Marker in place of a time where the value is above the bound."""


@dataclass(frozen=True, eq=False)
class SettlingTime(Metric):
    """Time from the start to the first sample after which g stays ≤ ``below``; infinite if g is above at the last.

    Attributes:
        below: largest g that counts as settled, in the unit of g.
    """

    below: float

    def begin(self, value: Array) -> Array:
        """Return 0 where g is below the bound, or the marker."""
        return np.where(value <= self.below, 0.0, ABOVE)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the time since g went below the bound, at each sample."""
        settled = values <= self.below
        # Whole steps, so that times do not depend on where blocks begin.
        already = np.where(carried >= 0.0, np.rint(carried / step) + 1.0, 0.0)
        place = np.arange(values.shape[1], dtype=np.float64)
        last = np.asarray(np.maximum.accumulate(np.where(settled, -1.0, place), axis=1), dtype=np.float64)
        steps = np.where(last < 0.0, already[:, None] + place, place - last - 1.0)
        return np.where(settled, steps * step, ABOVE)

    def result(self, carried: Array, value: Array, duration: Array) -> Array:
        """Return the time at which g went below the bound for good."""
        return np.where(carried >= 0.0, np.maximum(duration - carried, 0.0), np.inf)


@dataclass(frozen=True, eq=False)
class TotalVariation(Metric):
    """Total variation Σ |g_{k+1} − g_k|: sum of all rises and falls of g."""

    def begin(self, value: Array) -> Array:
        """Return zero."""
        return np.zeros_like(value)

    def follow(self, carried: Array, before: Array, values: Array, step: float) -> Array:
        """Return the variation up to each sample, summed in the order of time."""
        changes = np.abs(np.diff(values, axis=1, prepend=before[:, None]))
        return np.asarray(np.add.accumulate(np.column_stack([carried, changes]), axis=1)[:, 1:], dtype=np.float64)
