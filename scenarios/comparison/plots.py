"""Pictures of comparisons: distributions, effort against accuracy, and curves of robustness."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ...views.style import PATH_COLOR, new_figure, save_figure

if TYPE_CHECKING:
    from .comparison import Comparison, Robustness
    from .estimate import Estimate
    from .pareto import Pareto


Array = NDArray[np.float64]
MARKERS = "osD^vP*Xdh<>"
COLUMNS = 3
"""Number of panels in a row."""
WIDEST, THINNEST = 3.5, 1.2
"""Line widths of the first and the last controller, so that coinciding lines are all visible."""


def distributions_plot(
    comparison: Comparison, path: Path | str | None = None, metrics: Sequence[str] | None = None
) -> Figure:
    """Draw the distribution function of each metric, one curve per controller: the share of all runs below x.

    Runs that had to stop, or have no finite metric, count as the worst: the curve ends below 1 by their share, or
    starts above 0 by it where more is better.

    Args:
        comparison: results of the comparison.
        path: path of a picture; no file is written if not given.
        metrics: names of the metrics to show; all that can rank controllers if not given.

    Raises:
        ModelError: if no metric has a finite value.
    """
    known = comparison.quantities
    requested = comparison.ranked if metrics is None else metrics
    shown = [name for name in requested if _any_finite(comparison, name)]
    if not shown:
        raise ModelError("there is no metric with a finite value to draw")
    wide = min(COLUMNS, len(shown))
    tall = -(-len(shown) // wide)
    figure = new_figure(3.4 * wide, 2.4 * tall + 0.6)
    panels: list[Axes] = list(np.ravel(figure.subplots(tall, wide, squeeze=False, sharey=True)))
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes, metric in zip(panels, shown, strict=False):
        values = {name: comparison.values(metric, name) for name in comparison.controllers_with(metric)}
        for i, name in enumerate(comparison.controllers):
            if name in values:
                finite = np.sort(values[name][np.isfinite(values[name])])
                worst = len(values[name]) - len(finite) if known[metric].better == "more" else 0
                rise = (worst + np.arange(min(len(finite), 1) + len(finite))) / len(values[name])
                style = "-" if i < 10 else "--"
                axes.step(np.concatenate([finite[:1], finite]), rise, style, where="post", color=f"C{i % 10}",
                          linewidth=_width(i, len(comparison.controllers)), label=name)  # fmt: skip
        _scale(axes, values)
        axes.set_xlabel(known[metric].label)
        axes.set_ylim(0.0, 1.02)
        axes.grid(True, color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
    for axes in panels[::wide]:
        axes.set_ylabel("share of runs")
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=min(len(handles), 4), fontsize=8)
    return _saved(figure, path)


def pareto_plot(pareto: Pareto, path: Path | str | None = None) -> Figure:
    """Draw the medians of two metrics with their intervals, and the Pareto front.

    Args:
        pareto: points and front.
        path: path of a picture; no file is written if not given.

    Raises:
        ModelError: if no controller has finite medians of both.
    """
    points = {n: p for n, p in pareto.points.items() if np.isfinite(p.x.value) and np.isfinite(p.y.value)}
    if not points:
        raise ModelError("no controller has a finite median of both metrics: there is nothing to draw")
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    for i, (name, point) in enumerate(points.items()):
        axes.errorbar(
            point.x.value,
            point.y.value,
            xerr=_bars(point.x),
            yerr=_bars(point.y),
            fmt=MARKERS[i % len(MARKERS)],
            color=f"C{i % 10}",
            capsize=2.5,
            linewidth=_width(i, len(points)),
            markersize=2.0 * _width(i, len(points)) + 2.0,
            label=name,
        )
    front = [points[name] for name in pareto.front if name in points]
    steps = "steps-post" if pareto.y.better == pareto.x.better == "less" else "default"
    if len(front) > 1:
        axes.plot([p.x.value for p in front], [p.y.value for p in front], color=PATH_COLOR, linestyle=":", zorder=0,
                  drawstyle=steps, label="best of both")  # fmt: skip
    absent = [name for name in pareto.points if name not in points]
    _log_where_wide(
        axes, np.array([p.x.value for p in points.values()]), np.array([p.y.value for p in points.values()])
    )
    axes.set_xlabel(f"median {pareto.x.label}, {_wish(pareto.x.better)}")
    axes.set_ylabel(f"median {pareto.y.label}, {_wish(pareto.y.better)}")
    axes.set_title(f"{pareto.title}; intervals of {100 * pareto.confidence:g} %", fontsize=9)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    title = "no finite median: " + ", ".join(absent) if absent else None
    figure.legend(loc="outside right upper", fontsize=8, title=title, title_fontsize=7)
    return _saved(figure, path)


def robustness_plot(sweep: Robustness, metric: str, path: Path | str | None = None) -> Figure:
    """Draw the median of a metric against the level, one curve per controller, with intervals.

    Infinite medians are omitted.

    Args:
        sweep: comparisons at each level.
        metric: name of the metric.
        path: path of a picture; no file is written if not given.

    Raises:
        ModelError: for an unknown metric.
    """
    quantities = sweep.comparisons[0].quantities
    if metric not in quantities:
        raise ModelError(unknown_name("metric", metric, quantities))
    figure = new_figure(6.4, 4.0)
    axes, levels = figure.subplots(), np.array(sweep.levels)
    drawn: list[float] = []
    names = sweep.comparisons[0].controllers_with(metric)
    for i, name in enumerate(names):
        curve = sweep.curve(metric, name)
        values = np.array([each.value if np.isfinite(each.value) else np.nan for each in curve])
        ends = np.array([[each.low, each.high] for each in curve])
        ends[~np.isfinite(ends)] = np.nan
        drawn += values[np.isfinite(values)].tolist()
        width = _width(i, len(names))
        axes.plot(levels, values, color=f"C{i % 10}", marker=MARKERS[i % len(MARKERS)], markersize=2.0 * width + 1.0,
                  linewidth=width, label=name)  # fmt: skip
        axes.fill_between(levels, ends[:, 0], ends[:, 1], color=f"C{i % 10}", alpha=0.2, linewidth=0)
    _log_where_wide(axes, np.zeros(0), np.array(drawn))
    axes.set_xlabel(textwrap.fill(sweep.meaning, 60))
    axes.set_ylabel(f"median {quantities[metric].label}")
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    figure.legend(loc="outside right upper", fontsize=8)
    return _saved(figure, path)


def _width(i: int, count: int) -> float:
    """Return the width of the i-th of ``count`` lines."""
    return WIDEST - (WIDEST - THINNEST) * i / max(count - 1, 1)


def _wish(better: str) -> str:
    return "more is better" if better == "more" else "less is better"


def _bars(estimate: Estimate) -> Array:
    """Return the lengths of the error bars to both sides; zero where the interval is unbounded."""
    sides = np.array([[estimate.value - estimate.low], [estimate.high - estimate.value]])
    return np.where(np.isfinite(sides), sides, 0.0)


def _any_finite(comparison: Comparison, metric: str) -> bool:
    return any(np.isfinite(comparison.values(metric, name)).any() for name in comparison.controllers_with(metric))


def _scale(axes: Axes, values: dict[str, Array]) -> None:
    joined = np.concatenate(list(values.values()))
    _log_where_wide(axes, joined[np.isfinite(joined)], np.zeros(0))


def _log_where_wide(axes: Axes, x: Array, y: Array) -> None:
    """Set a logarithmic scale where all numbers are positive and their ratio exceeds 30; else limit the ticks."""
    axes.locator_params(nbins=6)
    if len(x) and x.min() > 0.0 and x.max() > 30.0 * x.min():
        axes.set_xscale("log")
    if len(y) and y.min() > 0.0 and y.max() > 30.0 * y.min():
        axes.set_yscale("log")


def _saved(figure: Figure, path: Path | str | None) -> Figure:
    if path is not None:
        save_figure(figure, Path(path))
    return figure
