"""The outcome of a comparison: every run of every controller, what can be said of them, and sweeps of difficulty."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from .estimate import Estimate, median, quantile
from .paired import Paired, PairedSummary, Summary, holm, worst_is_infinite
from .pareto import Pareto, Point
from .proportions import OUTCOMES, Rates, succeeded
from .quantities import Quantity
from .ranking import Ranking, ranking
from .trial import OK

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Robustness:
    """The same runs at each level.

    Attributes:
        name: of what is raised.
        meaning: what it is, with its unit, for an axis.
        levels: ascending.
        comparisons: one for each level.
    """

    name: str
    meaning: str
    levels: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def curve(self, metric: str, controller: str) -> tuple[Estimate, ...]:
        """Median of a metric at each level, with its interval.

        Args:
            metric: its name.
            controller: its name.

        Raises:
            ModelError: for an unknown name.
        """
        return tuple(each.summary(metric, controller).median for each in self.comparisons)

    def plot(self, metric: str = "error_rms", path: Path | str | None = None) -> Figure:
        """The curves of all controllers.

        Args:
            metric: its name.
            path: of a picture, PNG or SVG; none is written if not given.

        Raises:
            ModelError: for an unknown metric.
        """
        from .plots import robustness_plot

        return robustness_plot(self, metric, path)


Array = NDArray[np.float64]
Column = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Controllers on the same runs: same starts, parameters, noise and disturbances for all.

    A metric of a run that had to stop is not used: the run counts as worst where runs are ranked, and is left out, and
    counted, where there are means.

    Attributes:
        name: what was compared.
        quantities: metrics, by name.
        results: by controller, what :meth:`Trial.run <erugin.scenarios.Trial.run>` returns, shape (n,) each.
        seeds: of the runs, shape (n,).
        columns: values of what was varied, by controller and name, shape (n,) each.
        confidence: of each interval.
        left_out: why metrics are missing, by controller and name.
        rows: names of each controller's rows; deviations are compared between equal ones only.
        tick_times: median time of one control tick [s], by controller, of this machine; not among the results.
        robustness: metrics against levels of what makes control harder, by name.
    """

    name: str
    quantities: Mapping[str, Quantity]
    results: Mapping[str, Mapping[str, Column]]
    seeds: NDArray[np.int64]
    columns: Mapping[str, Mapping[str, Array]] = field(default_factory=dict[str, Mapping[str, Array]])
    confidence: float = 0.95
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tick_times: Mapping[str, float] = field(default_factory=dict[str, float])
    robustness: Mapping[str, Robustness] = field(default_factory=dict[str, Robustness])

    @property
    def controllers(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.results)

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the metrics by which controllers can be ranked."""
        return tuple(name for name, each in self.quantities.items() if each.better != "neither" and not each.own)

    @property
    def failures(self) -> Mapping[str, int]:
        """How many runs of each controller had to stop."""
        return {name: int(np.count_nonzero(~self._column(name, OK))) for name in self.controllers}

    def values(self, metric: str, controller: str) -> Array:
        """A metric of each run; NaN where it had to stop, shape (n,).

        Args:
            metric: its name.
            controller: its name.

        Raises:
            ModelError: for an unknown name, or a metric that the controller has not.
        """
        self._require_metric(metric)
        if controller not in self.results:
            raise ModelError(unknown_name("controller", controller, self.results))
        if metric not in self.results[controller]:
            reason = self.left_out.get(controller, {}).get(metric, "it was not reckoned")
            raise ModelError(f"{controller!r} has no metric {metric!r}: {reason}")
        return np.where(self._column(controller, OK), self._column(controller, metric), np.nan)

    def having(self, metric: str) -> tuple[str, ...]:
        """The controllers that have a metric.

        Args:
            metric: its name.
        """
        self._require_metric(metric)
        return tuple(name for name in self.controllers if metric in self.results[name])

    @functools.cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Every metric of every controller."""
        return tuple(self.summary(metric, name) for metric in self.quantities for name in self.having(metric))

    def summary(self, metric: str, controller: str) -> Summary:
        """One metric of one controller.

        Args:
            metric: its name.
            controller: its name.

        Raises:
            ModelError: for an unknown name.
        """
        values = self.values(metric, controller)
        finite = values[np.isfinite(values)]
        better = self.quantities[metric].better
        ranked = finite if better == "neither" else worst_is_infinite(values, better)
        low, high = (quantile(ranked, share) for share in (0.25, 0.75))
        mean = float(finite.mean()) if len(finite) else math.nan
        found = median(ranked, self.confidence)
        return Summary(metric, controller, len(values), len(finite), found, (low, high), mean)

    @functools.cached_property
    def pairs(self) -> tuple[PairedSummary, ...]:
        """Every metric of every pair of controllers that both have it."""
        found: list[tuple[str, str, str, Paired]] = []
        for metric, quantity in self.quantities.items():
            names = self.having(metric)
            together = len(names) * (len(names) - 1) // 2
            values = {name: self.values(metric, name) for name in names}
            for first, second in itertools.combinations(names, 2):
                if quantity.own and not self._same_rows(first, second):
                    continue
                each = Paired.of(values[first], values[second], quantity.better, self.confidence, together=together)
                found.append((metric, first, second, each))
        family = [i for i, (metric, *_) in enumerate(found) if self.quantities[metric].better != "neither"]
        adjusted = dict(zip(family, holm([found[i][3].p for i in family]), strict=True))
        return tuple(PairedSummary(*each, adjusted.get(i, math.nan)) for i, each in enumerate(found))

    def pair(self, metric: str, first: str, second: str) -> PairedSummary:
        """One metric of two controllers.

        Args:
            metric: its name.
            first: name of a controller.
            second: name of another, behind the first in :attr:`controllers`.

        Raises:
            ModelError: if there is no such pair.
        """
        for each in self.pairs:
            if (each.metric, each.first, each.second) == (metric, first, second):
                return each
        raise ModelError(
            f"there is no pair {first!r}, {second!r} for metric {metric!r}: controllers {', '.join(self.controllers)}, "
            f"in this order, with the metrics {', '.join(self.quantities)}; deviations only where rows are equal"
        )

    def ranking(self, metric: str) -> Ranking:
        """The order of the controllers by a metric, as far as the intervals support it.

        Args:
            metric: its name.

        Raises:
            ModelError: for an unknown metric, one of which neither less nor more is better, or one of the controllers'
                own rows.
        """
        self._require_metric(metric)
        quantity = self.quantities[metric]
        if metric not in self.ranked:
            why = (
                "it is measured against each controller's own rows"
                if quantity.own
                else "neither less nor more is better"
            )
            raise ModelError(f"metric {metric!r} ranks no controllers: {why}")
        sign = -1.0 if quantity.better == "more" else 1.0
        names = self.having(metric)
        ordered = sorted(names, key=lambda name: sign * self.summary(metric, name).median.value)
        sure: dict[tuple[str, str], bool] = {}
        for each in self.pairs:
            if each.metric == metric:
                interval = each.paired.simultaneous
                sure[each.first, each.second] = interval.low > 0.5
                sure[each.second, each.first] = interval.high < 0.5
        absent = {name: self.left_out.get(name, {}).get(metric, "it was not reckoned") for name in self.controllers}
        return ranking(metric, ordered, sure, {name: why for name, why in absent.items() if name not in names})

    def pareto(self, x: str = "effort", y: str = "error_rms") -> Pareto:
        """Two metrics against each other.

        Args:
            x: name of the first.
            y: of the second.

        Raises:
            ModelError: for an unknown metric, or one that cannot rank.
        """
        for metric in (x, y):
            self._require_metric(metric)
            if self.quantities[metric].better == "neither":
                raise ModelError(f"metric {metric!r} has no good side: neither less nor more is better")
        names = [name for name in self.having(x) if name in self.having(y)]
        points = {name: Point(self.summary(x, name).median, self.summary(y, name).median) for name in names}
        return Pareto.of(self.quantities[x], self.quantities[y], points, self.confidence, self.name)

    @functools.cached_property
    def rates(self) -> Mapping[str, Rates]:
        """Shares of runs that ended well, settled, and kept clear, by what is asked; those that can be told."""
        found: dict[str, Rates] = {}
        for outcome in OUTCOMES:
            told = {name: succeeded(outcome, self.results[name]) for name in self.controllers}
            known = {name: flags for name, flags in told.items() if flags is not None}
            if known:
                found[outcome] = Rates(outcome, known, self.confidence)
        return found

    def table(self, metrics: Sequence[str] | None = None, *, width: int = 120) -> str:
        """What was found, as text for a terminal.

        Args:
            metrics: names of those that are shown; all if not given.
            width: of the terminal, in characters.

        Raises:
            ModelError: for an unknown metric.
        """
        from .tables import comparison_text

        shown = tuple(self.quantities if metrics is None else metrics)
        for metric in shown if metrics is not None else ():
            self._require_metric(metric)
        return comparison_text(self, shown, width)

    def to_pandas(self) -> pd.DataFrame:
        """One row per controller and seed, with everything that is known of the run."""
        from .tables import data_frame

        return data_frame(self)

    def plot(self, path: Path | str | None = None, metrics: Sequence[str] | None = None) -> Figure:
        """The distribution of each metric, controller by controller.

        Args:
            path: of a picture, PNG or SVG; none is written if not given.
            metrics: names of those that are shown; all that rank if not given.

        Raises:
            ModelError: for an unknown metric.
        """
        from .plots import distributions_plot

        for metric in metrics or ():
            self._require_metric(metric)
        return distributions_plot(self, path, metrics)

    def _column(self, controller: str, name: str) -> Column:
        return self.results[controller][name]

    def _same_rows(self, first: str, second: str) -> bool:
        return first in self.rows and self.rows[first] == self.rows.get(second)

    def _require_metric(self, metric: str) -> None:
        if metric not in self.quantities:
            raise ModelError(unknown_name("metric", metric, self.quantities))
