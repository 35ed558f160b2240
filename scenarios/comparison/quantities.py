"""Quantities by which controllers are compared: the standard ones, and their computation from runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...simulation.metrics import (
    Final,
    Integral,
    Largest,
    Least,
    Mean,
    Metric,
    RecordedSignal,
    RootMeanSquare,
    SettlingTime,
    TotalVariation,
)
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.pickling import Picklable
from ..setup import Setup
from .estimate import Better
from .outcomes import END_TIME

Array = NDArray[np.float64]
Join = Callable[[Sequence[Array]], Array]


def only(parts: Sequence[Array]) -> Array:
    """Return the only part.

    Args:
        parts: a single array, shape (n,).
    """
    return parts[0]


def total(parts: Sequence[Array]) -> Array:
    """Return the sum of the parts, added in order.

    Args:
        parts: arrays of shape (n,) each.
    """
    summed = np.zeros_like(parts[0])
    for part in parts:
        summed = summed + part
    return summed


def most(parts: Sequence[Array]) -> Array:
    """Return the largest of the parts.

    Args:
        parts: arrays of shape (n,) each.
    """
    return np.asarray(np.max(np.stack(parts), axis=0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Quantity(Picklable):
    """A metric of a run.

    Attributes:
        name: name of the metric.
        unit: unit of the metric; empty if it has none.
        meaning: description, as a phrase.
        parts: metrics computed along the run, by name.
        join: function that computes the number from the parts, in order.
        better: ``"less"`` or ``"more"`` if that is better, else ``"neither"``.
        own: True if it is measured against the controller's own rows, so that only controllers with the same rows can
            be compared by it.
    """

    name: str
    unit: str
    meaning: str
    parts: Mapping[str, Metric] = field(default_factory=dict[str, Metric])
    join: Join = only
    better: Better = "less"
    own: bool = False

    @property
    def label(self) -> str:
        """Name and unit, for tables and axes."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    def compute(self, values: Mapping[str, Array]) -> Array:
        """Compute the number of each run, shape (n,).

        Args:
            values: values of the parts, by name, shape (n,) each.
        """
        return self.join([values[name] for name in self.parts])


class StandardQuantities:
    """Metrics of a setup under one controller.

    Attributes:
        quantities: available metrics, by name.
        left_out: reasons why other metrics are not available, by name.
    """

    def __init__(self, setup: Setup, controller: Controller | None) -> None:
        """Determine the available metrics.

        Args:
            setup: setup that defines error, clearance and additional metrics.
            controller: the controller that drives the plant, or None.
        """
        self.quantities: dict[str, Quantity] = {}
        self.left_out: dict[str, str] = {}
        self._add_error(setup)
        self._add_deviation(controller)
        self._add_inputs(setup, controller)
        self._add("energy_final", "J", "T + V at the end", Final(RecordedSignal("energy")), better="neither")
        if setup.clearance is None:
            self.left_out["clearance"] = "the setup has no clearance="
        else:
            self._add("clearance", setup.unit, "least distance to the obstacles", Least(setup.clearance), "more")
        self._add("not_ok", "", "share of the time with a status other than OK", Mean(RecordedSignal("not_ok")))
        self.quantities[END_TIME] = Quantity(END_TIME, "s", "time at which the run ended", better="neither")
        no_inputs = _without_inputs(setup, controller)
        for name, metric in setup.metrics.items():
            if name in self.quantities or name in self.left_out:
                raise ModelError(f"metric {name!r} of the setup has the name of a standard metric: rename it")
            expression = metric.expression
            if no_inputs and isinstance(expression, ca.SX) and ca.depends_on(expression, setup.robot.u):
                self.left_out[name] = no_inputs
            else:
                self._add(name, "", "metric of the setup", metric)

    def select(self, names: Sequence[str] | None) -> Mapping[str, Quantity]:
        """Return the available ones among some metrics; all if None.

        Args:
            names: names of metrics.

        Raises:
            ModelError: for an unknown metric.
        """
        if names is None:
            return dict(self.quantities)
        if isinstance(names, str):
            raise ModelError(f'metrics must be a sequence of names, as in ["{names}"], got the text {names!r}')
        known = [*self.quantities, *self.left_out]
        for name in names:
            if name not in known:
                raise ModelError(unknown_name("metric", name, known))
        return {name: self.quantities[name] for name in names if name in self.quantities}

    def _add(self, name: str, unit: str, meaning: str, metric: Metric, better: Better = "less") -> None:
        self.quantities[name] = Quantity(name, unit, meaning, {name: metric}, better=better)

    def _add_error(self, setup: Setup) -> None:
        error = setup.error
        if error is None:
            reason = "the setup has no error="
            self.left_out |= dict.fromkeys(("error_rms", "error_max", "error_final", "settling"), reason)
            return
        self._add("error_rms", setup.unit, "tracking error, root mean square over time", RootMeanSquare(error))
        self._add("error_max", setup.unit, "largest tracking error", Largest(error))
        self._add("error_final", setup.unit, "tracking error at the end", Final(error))
        settled = f"time after which the error stays below {setup.settled:g} {setup.unit}".rstrip()
        self._add("settling", "s", settled, SettlingTime(error, setup.settled))

    def _add_deviation(self, controller: Controller | None) -> None:
        if controller is None or not controller.rows:
            reason = "the controller has no rows whose deviations could be measured"
            self.left_out |= dict.fromkeys(("deviation_rms", "deviation_max"), reason)
            return
        source = RecordedSignal("deviation")
        for name, statistic, metric in (
            ("deviation_rms", "root mean square over time", RootMeanSquare(source)),
            ("deviation_max", "largest value", Largest(source)),
        ):
            meaning = f"norm of the deviations of the controller's own rows, {statistic}"
            self.quantities[name] = Quantity(name, "", meaning, {name: metric}, own=True)

    def _add_inputs(self, setup: Setup, controller: Controller | None) -> None:
        robot = setup.robot
        names = ("effort", "peak_input", "work", "variation", *(f"peak_{name}" for name in robot.input_names))
        reason = _without_inputs(setup, controller)
        if reason:
            self.left_out |= dict.fromkeys(names, reason)
            return
        u, units = robot.u, robot.input_units
        shares = ca.mtimes(robot.input_matrix.T, robot.coordinates.v)
        each = list(zip(robot.input_names, units, range(len(units)), strict=True))
        squares = " + ".join(f"({unit or '1'})² s" for unit in dict.fromkeys(units))
        self._add("effort", squares, "∫ uᵀu dt", Integral(ca.sumsqr(u)))
        peaks = {f"peak_{name}": Largest(ca.fabs(u[i])) for name, _, i in each}
        for name, unit, _ in each:
            self._add(f"peak_{name}", unit, f"largest |{name}|", peaks[f"peak_{name}"])
        if len(set(units)) == 1:
            self.quantities["peak_input"] = Quantity("peak_input", units[0], "largest |u_i| of all inputs", peaks, most)
            parts = {f"variation_{name}": TotalVariation(u[i]) for name, _, i in each}
            meaning = "smoothness: total variation Σ |Δu_i| of the inputs"
            self.quantities["variation"] = Quantity("variation", units[0], meaning, parts, total)
        else:
            reason = f"the inputs have different units: {', '.join(unit or '1' for unit in dict.fromkeys(units))}"
            self.left_out |= dict.fromkeys(("peak_input", "variation"), reason)
        power = ca.sum1(ca.fabs(u * shares))
        self._add("work", "J", "work of the drives, ∫ Σ |u_i (Bᵀv)_i| dt", Integral(power))


def parts_of(quantities: Mapping[str, Quantity]) -> Iterator[tuple[str, Metric]]:
    """Yield the metrics that a simulation computes for some quantities, with their names.

    Args:
        quantities: quantities, by name.
    """
    for quantity in quantities.values():
        yield from quantity.parts.items()


def _without_inputs(setup: Setup, controller: Controller | None) -> str:
    """Return the reason why there are no inputs to measure; empty if there are inputs."""
    if controller is None:
        return "there is no controller"
    if controller.applies_force:
        return "the controller applies ideal forces and no inputs"
    return "" if setup.robot.u.numel() else "the robot has no inputs"
