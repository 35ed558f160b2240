"""Pictures of comparisons: distributions, effort against accuracy, and curves of robustness."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ...views.style import PATH_COLOR, new_figure, save_figure
from .estimate import Estimate
from .quantities import Quantity

Array = NDArray[np.float64]
MARKERS = "osD^vP*Xdh<>"
COLUMNS = 3
"""Number of panels in a row."""
WIDEST, THINNEST = 3.5, 1.2
"""Line widths of the first and the last controller, so that coinciding lines are all visible."""


def plot_distributions(
    values: Mapping[str, Mapping[str, Array]],
    quantities: Mapping[str, Quantity],
    controllers: Sequence[str],
    path: Path | str | None = None,
) -> Figure:
    """Draw the distribution function of each metric, one curve per controller: the share of all runs below x.

    Runs that had to stop, or have no finite metric, count as the worst: the curve ends below 1 by their share, or
    starts above 0 by it where more is better.

    Args:
        values: value of each run, by metric and controller, shape (n,) each; NaN for runs that had to stop.
        quantities: the metrics, by name.
        controllers: names of all controllers, in the order of their colors.
        path: path of a picture; no file is written if not given.

    Raises:
        ModelError: if no metric has a finite value.
    """
    shown = {metric: own for metric, own in values.items() if any(np.isfinite(each).any() for each in own.values())}
    if not shown:
        raise ModelError("there is no metric with a finite value to draw")
    wide = min(COLUMNS, len(shown))
    tall = -(-len(shown) // wide)
    figure = new_figure(3.4 * wide, 2.4 * tall + 0.6)
    panels: list[Axes] = list(np.ravel(figure.subplots(tall, wide, squeeze=False, sharey=True)))
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    for axes, (metric, by_name) in zip(panels, shown.items(), strict=False):
        for i, name in enumerate(controllers):
            if name in by_name:
                finite = np.sort(by_name[name][np.isfinite(by_name[name])])
                worst = len(by_name[name]) - len(finite) if quantities[metric].better == "more" else 0
                rise = (worst + np.arange(min(len(finite), 1) + len(finite))) / len(by_name[name])
                style = "-" if i < 10 else "--"
                axes.step(np.concatenate([finite[:1], finite]), rise, style, where="post", color=f"C{i % 10}",
                          linewidth=_width(i, len(controllers)), label=name)  # fmt: skip
        joined = np.concatenate(list(by_name.values()))
        _log_where_wide(axes, joined[np.isfinite(joined)], np.zeros(0))
        axes.set_xlabel(quantities[metric].label)
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


def plot_pareto(
    medians: Mapping[str, tuple[Estimate, Estimate]],
    front: Sequence[str],
    x: Quantity,
    y: Quantity,
    title: str,
    path: Path | str | None = None,
) -> Figure:
    """Draw the medians of two metrics with their intervals, and the Pareto front.

    Args:
        medians: medians of the two metrics, by controller.
        front: names of the controllers on the front, in the order of x.
        x: the first metric.
        y: the second metric.
        title: title of the picture.
        path: path of a picture; no file is written if not given.

    Raises:
        ModelError: if no controller has finite medians of both.
    """
    points = {name: pair for name, pair in medians.items() if all(np.isfinite(each.value) for each in pair)}
    if not points:
        raise ModelError("no controller has a finite median of both metrics: there is nothing to draw")
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
    for i, (name, (horizontal, vertical)) in enumerate(points.items()):
        axes.errorbar(
            horizontal.value,
            vertical.value,
            xerr=_bars(horizontal),
            yerr=_bars(vertical),
            fmt=MARKERS[i % len(MARKERS)],
            color=f"C{i % 10}",
            capsize=2.5,
            linewidth=_width(i, len(points)),
            markersize=2.0 * _width(i, len(points)) + 2.0,
            label=name,
        )
    best = np.array([[each.value for each in points[name]] for name in front if name in points])
    steps = "steps-post" if x.better == y.better == "less" else "default"
    if len(best) > 1:
        axes.plot(*best.T, color=PATH_COLOR, linestyle=":", zorder=0, drawstyle=steps, label="best of both")
    absent = [name for name in medians if name not in points]
    _log_where_wide(axes, *np.array([[each.value for each in pair] for pair in points.values()]).T)
    axes.set_xlabel(f"median {x.label}, {_wish(x.better)}")
    axes.set_ylabel(f"median {y.label}, {_wish(y.better)}")
    axes.set_title(title, fontsize=9)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    note = "no finite median: " + ", ".join(absent) if absent else None
    figure.legend(loc="outside right upper", fontsize=8, title=note, title_fontsize=7)
    return _saved(figure, path)


def plot_robustness(
    curves: Mapping[str, Sequence[Estimate]],
    levels: Sequence[float],
    label: str,
    meaning: str,
    path: Path | str | None = None,
) -> Figure:
    """Draw the median of a metric against the level, one curve per controller, with intervals.

    Infinite medians are omitted.

    Args:
        curves: median at each level, by controller.
        levels: the levels, ascending.
        label: name and unit of the metric.
        meaning: meaning of a level, with its unit.
        path: path of a picture; no file is written if not given.
    """
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    drawn: list[float] = []
    for i, (name, curve) in enumerate(curves.items()):
        values = np.array([each.value if np.isfinite(each.value) else np.nan for each in curve])
        ends = np.array([[each.low, each.high] for each in curve])
        ends[~np.isfinite(ends)] = np.nan
        drawn += values[np.isfinite(values)].tolist()
        width = _width(i, len(curves))
        axes.plot(levels, values, color=f"C{i % 10}", marker=MARKERS[i % len(MARKERS)], markersize=2.0 * width + 1.0,
                  linewidth=width, label=name)  # fmt: skip
        axes.fill_between(levels, ends[:, 0], ends[:, 1], color=f"C{i % 10}", alpha=0.2, linewidth=0)
    _log_where_wide(axes, np.zeros(0), np.array(drawn))
    axes.set_xlabel(textwrap.fill(meaning, 60))
    axes.set_ylabel(f"median {label}")
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
