"""Results of a comparison: every run of every controller, their statistics, and sweeps over impairments."""

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
from ...symbolic.optional_dependencies import import_optional
from .estimate import Estimate, median, quantile
from .outcomes import ENDING, OK, OUTCOMES, succeeded
from .paired import Paired, PairedSummary, Summary, holm, worst_is_infinite
from .pareto import Pareto, Point
from .proportions import Rates
from .quantities import Quantity
from .ranking import Ranking, ranking

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table


@dataclass(frozen=True, eq=False)
class Robustness:
    """The same comparison at each level of an impairment.

    Attributes:
        name: name of the impairment.
        meaning: meaning of a level, with its unit, for an axis.
        levels: levels in ascending order.
        comparisons: the comparison at each level.
    """

    name: str
    meaning: str
    levels: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def curve(self, metric: str, controller: str) -> tuple[Estimate, ...]:
        """Return the median of a metric at each level, with its interval.

        Args:
            metric: name of the metric.
            controller: name of the controller.

        Raises:
            ModelError: for an unknown name.
        """
        return tuple(each.summary(metric, controller).median for each in self.comparisons)

    def curves(self, metric: str) -> Mapping[str, tuple[Estimate, ...]]:
        """Return the curves of all controllers that have a metric, by name.

        Args:
            metric: name of the metric.

        Raises:
            ModelError: for an unknown metric.
        """
        return {name: self.curve(metric, name) for name in self.comparisons[0].controllers_with(metric)}

    def plot(self, metric: str = "error_rms", path: Path | str | None = None) -> Figure:
        """Draw the curves of all controllers.

        Args:
            metric: name of the metric.
            path: path of a picture, PNG or SVG; no file is written if not given.

        Raises:
            ModelError: for an unknown metric.
        """
        from .plots import plot_robustness  # late, for matplotlib

        curves = self.curves(metric)
        return plot_robustness(curves, self.levels, self.comparisons[0].quantities[metric].label, self.meaning, path)


Array = NDArray[np.float64]
Column = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of several controllers on the same runs: same starts, parameters, noise and disturbances for all.

    A metric of a run that had to stop is not used: the run counts as the worst in medians and ranks, and is excluded
    from means, which report the number of runs that they use.

    Attributes:
        name: name of the comparison.
        quantities: metrics, by name.
        results: return values of :meth:`Trial.run <erugin.scenarios.Trial.run>`, by controller, shape (n,) each.
        seeds: seeds of the runs, shape (n,).
        columns: values of the randomized numbers, by controller and name, shape (n,) each.
        confidence: confidence of each interval.
        left_out: reasons why metrics are missing, by controller and name.
        rows: names of each controller's rows; deviations are compared between equal rows only.
        tick_times: median time of one control tick on this machine [s], by controller; not among the results.
        robustness: comparisons at levels of impairments, by name.
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
        """Names of the controllers."""
        return tuple(self.results)

    @property
    def ranked(self) -> tuple[str, ...]:
        """Names of the metrics by which controllers can be ranked."""
        return tuple(name for name, each in self.quantities.items() if each.better != "neither" and not each.own)

    @property
    def failures(self) -> Mapping[str, int]:
        """Number of runs of each controller that had to stop."""
        return {name: int(np.count_nonzero(~self._column(name, OK))) for name in self.controllers}

    def values(self, metric: str, controller: str) -> Array:
        """Return a metric of each run, shape (n,); NaN for runs that had to stop.

        Args:
            metric: name of the metric.
            controller: name of the controller.

        Raises:
            ModelError: for an unknown name, or a metric that the controller does not have.
        """
        self._require_metric(metric)
        if controller not in self.results:
            raise ModelError(unknown_name("controller", controller, self.results))
        if metric not in self.results[controller]:
            reason = self.left_out.get(controller, {}).get(metric, "it was not computed")
            raise ModelError(f"{controller!r} has no metric {metric!r}: {reason}")
        return np.where(self._column(controller, OK), self._column(controller, metric), np.nan)

    def controllers_with(self, metric: str) -> tuple[str, ...]:
        """Return the names of the controllers that have a metric.

        Args:
            metric: name of the metric.
        """
        self._require_metric(metric)
        return tuple(name for name in self.controllers if metric in self.results[name])

    @functools.cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Summaries of every metric of every controller."""
        return tuple(self.summary(metric, name) for metric in self.quantities for name in self.controllers_with(metric))

    def summary(self, metric: str, controller: str) -> Summary:
        """Summarize one metric of one controller.

        Args:
            metric: name of the metric.
            controller: name of the controller.

        Raises:
            ModelError: for an unknown name.
        """
        values = self.values(metric, controller)
        finite = values[np.isfinite(values)]
        better = self.quantities[metric].better
        ranked = finite if better == "neither" else worst_is_infinite(values, better)
        low, high = (quantile(ranked, share) for share in (0.25, 0.75))
        mean = float(finite.mean()) if len(finite) else math.nan
        middle = median(ranked, self.confidence)
        return Summary(metric, controller, len(values), len(finite), middle, (low, high), mean)

    @functools.cached_property
    def pairs(self) -> tuple[PairedSummary, ...]:
        """Summaries of every metric of every pair of controllers that both have it."""
        pairs: list[tuple[str, str, str, Paired]] = []
        for metric, quantity in self.quantities.items():
            names = self.controllers_with(metric)
            family_size = len(names) * (len(names) - 1) // 2
            values = {name: self.values(metric, name) for name in names}
            for first, second in itertools.combinations(names, 2):
                if quantity.own and not self._same_rows(first, second):
                    continue
                paired = Paired.of(
                    *(values[first], values[second], quantity.better, self.confidence), family_size=family_size
                )
                pairs.append((metric, first, second, paired))
        family = [i for i, (metric, *_) in enumerate(pairs) if self.quantities[metric].better != "neither"]
        adjusted = dict(zip(family, holm([pairs[i][3].p for i in family]), strict=True))
        return tuple(PairedSummary(*each, adjusted.get(i, math.nan)) for i, each in enumerate(pairs))

    def pair(self, metric: str, first: str, second: str) -> PairedSummary:
        """Return the summary of one metric of two controllers.

        Args:
            metric: name of the metric.
            first: name of a controller.
            second: name of another one, after the first in :attr:`controllers`.

        Raises:
            ModelError: if there is no such pair.
        """
        for each in self.pairs:
            if (each.metric, each.first, each.second) == (metric, first, second):
                return each
        raise ModelError(
            f"there is no pair {first!r}, {second!r} for metric {metric!r}: give two of the controllers "
            f"{', '.join(self.controllers)}, in this order, and one of the metrics {', '.join(self.quantities)}; "
            "deviations are compared between controllers with equal rows only"
        )

    def ranking(self, metric: str) -> Ranking:
        """Rank the controllers by a metric, as far as the intervals support it.

        Args:
            metric: name of the metric.

        Raises:
            ModelError: for an unknown metric, one of which neither less nor more is better, or one that is measured
                against each controller's own rows.
        """
        self._require_metric(metric)
        quantity = self.quantities[metric]
        if metric not in self.ranked:
            why = (
                "it is measured against each controller's own rows"
                if quantity.own
                else "neither less nor more is better"
            )
            raise ModelError(f"metric {metric!r} cannot rank controllers: {why}")
        sign = -1.0 if quantity.better == "more" else 1.0
        names = self.controllers_with(metric)
        ordered = sorted(names, key=lambda name: sign * self.summary(metric, name).median.value)
        sure: dict[tuple[str, str], bool] = {}
        for each in self.pairs:
            if each.metric == metric:
                interval = each.paired.simultaneous
                sure[each.first, each.second] = interval.low > 0.5
                sure[each.second, each.first] = interval.high < 0.5
        absent = {name: self.left_out.get(name, {}).get(metric, "it was not computed") for name in self.controllers}
        return ranking(metric, ordered, sure, {name: why for name, why in absent.items() if name not in names})

    def pareto(self, x: str = "effort", y: str = "error_rms") -> Pareto:
        """Return two metrics against each other, with the Pareto front.

        Args:
            x: name of the first metric.
            y: name of the second metric.

        Raises:
            ModelError: for an unknown metric, or one that cannot rank.
        """
        for metric in (x, y):
            self._require_metric(metric)
            if self.quantities[metric].better == "neither":
                raise ModelError(f"metric {metric!r} cannot rank controllers: neither less nor more is better")
        names = [name for name in self.controllers_with(x) if name in self.controllers_with(y)]
        points = {name: Point(self.summary(x, name).median, self.summary(y, name).median) for name in names}
        return Pareto.of(self.quantities[x], self.quantities[y], points, self.confidence, self.name)

    @functools.cached_property
    def rates(self) -> Mapping[str, Rates]:
        """Shares of runs that ended well, settled, and stayed clear of obstacles, by outcome, as far as known."""
        rates: dict[str, Rates] = {}
        for outcome in OUTCOMES:
            flags = {name: succeeded(outcome, self.results[name]) for name in self.controllers}
            known = {name: each for name, each in flags.items() if each is not None}
            if known:
                rates[outcome] = Rates(outcome, known, self.confidence)
        return rates

    def table(self, metrics: Sequence[str] | None = None, *, width: int = 120) -> str:
        """Return the results as text for a terminal.

        Args:
            metrics: names of the metrics to show; all if not given.
            width: width of the terminal, in characters.

        Raises:
            ModelError: for an unknown metric.
        """
        from .tables import medians_table, pairs_table, render_text, runs_table, sweep_table  # late, for rich

        for metric in () if metrics is None else metrics:
            self._require_metric(metric)
        shown = tuple(self.quantities if metrics is None else metrics)
        labels = {metric: self.quantities[metric].label for metric in shown}
        ranked = [metric for metric in shown if metric in self.ranked]
        randomized = dict.fromkeys(name for columns in self.columns.values() for name in columns)
        not_ok = {name: self._share_not_ok(name) for name in self.controllers}
        ranks = {metric: self.ranking(metric).ranks for metric in ranked}
        medians = [
            (labels[metric], self.summary(metric, name), ranks[metric].get(name) if metric in ranks else None)
            for metric in shown
            for name in self.controllers_with(metric)
        ]
        parts: list[str | Table] = [
            f"{self.name}: {len(self.seeds)} runs of each controller, the same for all; randomized: "
            f"{', '.join(randomized) or 'nothing'}. Intervals of {100 * self.confidence:g} %.",
            runs_table(self.controllers, self.rates.values(), not_ok, self.tick_times),
            *self._stops(),
            "\nMedians of all runs, [interval], (quartiles); a run that had to stop, or has no finite metric, counts "
            "as the worst. Rank: as far as the intervals support it.",
            medians_table(medians),
        ]
        if len(self.controllers) > 1:
            pairs = [pair for pair in self.pairs if pair.metric in shown]
            differ = [pair for pair in pairs if self._differs(pair)]
            equal = [pair for pair in pairs if pair.metric in ranked and not self._differs(pair)]
            parts += [
                "\nDifferences of pairs of runs, first - second: median [interval]; P(first better) [interval]; "
                "Cohen's d_z of the pairs in which both are finite; p of the signed-rank test, adjusted by Holm's "
                "method over all lines.",
                pairs_table((labels[pair.metric], pair) for pair in differ),
            ]
            if equal:
                names = "; ".join(f"{pair.metric} of {pair.first} and {pair.second}" for pair in equal)
                parts.append(f"\nEqual in all runs: {names}")
        for sweep in self.robustness.values() if ranked else ():
            curves = sweep.curves(ranked[0])
            parts += [f"\n{labels[ranked[0]]}, median, against {sweep.meaning}:", sweep_table(sweep.levels, curves)]
        return render_text([*parts, *self._missing(shown)], width)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row per controller and seed: randomized numbers, metrics, status and ending."""
        import_optional("pandas", "data")
        import pandas as pd

        frames: list[pd.DataFrame] = []
        for name, columns in self.results.items():
            identity = {"controller": np.full(len(self.seeds), name), "seed": self.seeds}
            frames.append(pd.DataFrame({**identity, **self.columns.get(name, {}), **columns}))
        frame = pd.concat(frames, ignore_index=True)
        frame.attrs = {"units": {name: quantity.unit for name, quantity in self.quantities.items()}}
        return frame

    def plot(self, path: Path | str | None = None, metrics: Sequence[str] | None = None) -> Figure:
        """Draw the distribution of each metric, one curve per controller.

        Args:
            path: path of a picture, PNG or SVG; no file is written if not given.
            metrics: names of the metrics to show; all that can rank controllers if not given.

        Raises:
            ModelError: for an unknown metric.
        """
        from .plots import plot_distributions  # late, for matplotlib

        for metric in () if metrics is None else metrics:
            self._require_metric(metric)
        values = {
            metric: {name: self.values(metric, name) for name in self.controllers_with(metric)}
            for metric in (self.ranked if metrics is None else metrics)
        }
        return plot_distributions(values, self.quantities, self.controllers, path)

    def _share_not_ok(self, controller: str) -> float:
        """Return the share of the time of all runs in which a law was limited, or its last output was reused."""
        shares = np.asarray(self.results[controller].get("not_ok", np.zeros(1)), dtype=np.float64)
        known = shares[np.isfinite(shares)]
        return float(known.mean()) if len(known) else 0.0

    def _stops(self) -> list[str]:
        """Return a line for each controller that had to stop: in how many runs, and the reason in the first of them."""
        lines: list[str] = []
        for name, results in self.results.items():
            stopped = np.flatnonzero(~np.asarray(results[OK], dtype=np.bool_))
            if len(stopped):
                first = int(stopped[0])
                lines.append(
                    f"\n{name} had to stop in {len(stopped)} of {len(self.seeds)} runs, first with seed "
                    f"{self.seeds[first]}: {results[ENDING][first]}"
                )
        return lines

    def _differs(self, pair: PairedSummary) -> bool:
        """Return True if a metric that can rank controllers differs between the two in any run."""
        return self.quantities[pair.metric].better != "neither" and pair.paired.wins + pair.paired.losses > 0

    def _missing(self, metrics: Sequence[str]) -> list[str]:
        """Return a line of missing metrics for each controller and reason."""
        groups: dict[tuple[str, str], list[str]] = {}
        for name, reasons in self.left_out.items():
            for metric, why in reasons.items():
                if metric in metrics or metric not in self.quantities:
                    groups.setdefault((name, why), []).append(metric)
        return [f"\nLeft out: {', '.join(names)} of {name}: {why}" for (name, why), names in groups.items()]

    def _column(self, controller: str, name: str) -> Column:
        return self.results[controller][name]

    def _same_rows(self, first: str, second: str) -> bool:
        return first in self.rows and self.rows[first] == self.rows.get(second)

    def _require_metric(self, metric: str) -> None:
        if metric not in self.quantities:
            raise ModelError(unknown_name("metric", metric, self.quantities))
