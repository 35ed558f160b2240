"""Embedded pictures of a page: distributions, Pareto fronts, and metrics against factors and randomized numbers."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ..comparison.comparison import Comparison
from ..comparison.estimate import Estimate, median
from ..comparison.paired import worst_is_infinite
from ..comparison.quantities import Quantity
from ..comparison.tables import number
from .study_comparisons import StudyComparisons

MOST_LEVELS = 12
"""Largest number of different levels that are shown as separate points."""
PARTS, FEWEST = 8, 5
"""Number of parts into which more levels are grouped, and least number of runs in a part."""


@dataclass(frozen=True)
class LevelCurve:
    """Medians of a metric of one controller against a factor.

    Attributes:
        controller: name of the controller.
        at: levels, or medians of the parts; empty if the levels are words.
        words: levels that are words.
        medians: median at each level, with its interval.
    """

    controller: str
    at: tuple[float, ...]
    words: tuple[str, ...]
    medians: tuple[Estimate, ...]


def curves(gathered: StudyComparisons, metric: str, factor: str) -> Sequence[LevelCurve]:
    """Return one curve per controller; those with only one level are omitted.

    Args:
        gathered: results of the study.
        metric: name of the metric.
        factor: name of a factor or randomized number.
    """
    curves: list[LevelCurve] = []
    for name, comparison in gathered.per_controller.items():
        given = gathered.columns[name].get(factor)
        if given is None or metric not in comparison.results[name]:
            continue
        values = worst_is_infinite(comparison.values(metric, name), gathered.quantities[metric].better)
        if given.dtype.kind in "OUb":
            texts = np.array([word(each) for each in given.tolist()], dtype=np.object_)
            words = tuple(dict.fromkeys(texts.tolist()))
            each = tuple(median(values[texts == word], gathered.confidence) for word in words)
            curves.append(LevelCurve(name, (), words, each))
            continue
        known = np.isfinite(given.astype(np.float64))
        numbers, values = given[known].astype(np.float64), values[known]
        rows = _parts(numbers)
        at = tuple(float(np.median(numbers[part])) for part in rows)
        curves.append(LevelCurve(name, at, (), tuple(median(values[part], gathered.confidence) for part in rows)))
    return [curve for curve in curves if len(curve.medians) > 1 and any(math.isfinite(m.value) for m in curve.medians)]


def _parts(numbers: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    levels = np.unique(numbers)
    if len(levels) <= MOST_LEVELS:
        return [np.flatnonzero(numbers == level) for level in levels]
    order = np.argsort(numbers, kind="stable")
    return np.array_split(order, max(1, min(PARTS, len(order) // FEWEST)))


def word(value: object) -> str:
    """Format a level.

    Args:
        value: a word, a number, or True or False.
    """
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


Array = NDArray[np.float64]
WIDTH, HEIGHT = 3.4, 2.7
"""Size of a picture [inches]: the width of a phone, so that text keeps its size there."""
MARGINS = (0.21, 0.18, 0.69, 0.76)
"""Left and lower edge, width and height of the axes, as shares of the picture's size."""
POINTS = 200
"""Largest number of points of a distribution function."""
STYLES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*Xdh<>"
WIDE = 30.0
"""Ratio of the largest to the smallest number above which an axis is logarithmic."""


@dataclass(frozen=True)
class Picture:
    """A picture with its texts.

    Attributes:
        uri: data URI of the picture.
        alt: alternative text.
        caption: caption below the picture.
    """

    uri: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Group:
    """Pictures of one kind.

    Attributes:
        title: title of the group.
        note: explanation of the pictures.
        pictures: pictures, in order.
    """

    title: str
    note: str
    pictures: tuple[Picture, ...]


def groups(gathered: StudyComparisons) -> Iterator[Group]:
    """Draw all pictures of a study.

    Args:
        gathered: results of the study.

    Yields:
        Groups of pictures.
    """
    shown = {name: _distribution(gathered, name) for name in gathered.quantities}
    drawn = tuple(each for each in shown.values() if isinstance(each, Picture))
    constant = [f"{name} = {number(each)}" for name, each in shown.items() if isinstance(each, float)]
    if drawn or constant:
        note = "Share of all runs below a number; runs that had to stop, or have no finite metric, are missing."
        note += f" The same in all runs: {', '.join(constant)}." if constant else ""
        yield Group("Distributions", note, drawn)
    together = gathered.together
    if together is not None:
        front = tuple(_pareto(together))
        if front:
            note = "Medians with their intervals on the same runs; the dotted line joins the Pareto front."
            yield Group("Effort and accuracy", note, front)
    against = tuple(_against(gathered))
    if against:
        note = "Medians with their intervals, by level, or by groups of equally many runs for random numbers."
        yield Group("Factors and randomized numbers", note, against)


def legend(gathered: StudyComparisons) -> list[tuple[str, str]]:
    """Return name and line of each controller.

    Args:
        gathered: results of the study.
    """
    lines: list[tuple[str, str]] = []
    for i, name in enumerate(gathered.controllers):
        figure = Figure(figsize=(0.5, 0.2))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.plot([0, 1, 2], [0, 0, 0], **_look(i))  # type: ignore[arg-type]
        axes.set_xlim(-0.2, 2.2)
        lines.append((name, _uri(figure)))
    return lines


def _distribution(gathered: StudyComparisons, metric: str) -> Picture | float | None:
    """Draw the distribution functions of a metric; return its value if it is constant, None without finite values."""
    quantity, samples = gathered.quantities[metric], dict[int, tuple[Array, int]]()
    for i, (name, comparison) in enumerate(gathered.per_controller.items()):
        if metric in comparison.results[name]:
            values = comparison.values(metric, name)
            finite = np.sort(values[np.isfinite(values)])
            if len(finite):
                samples[i] = finite, len(values)
    if not samples or quantity.better == "neither":
        return None
    together = np.concatenate([finite for finite, _ in samples.values()])
    if together.min() == together.max() and all(len(finite) == runs for finite, runs in samples.values()):
        return float(together[0])
    figure, axes = _new()
    for i, (finite, runs) in samples.items():
        at = np.unique(np.linspace(0, len(finite) - 1, min(len(finite), POINTS)).astype(np.intp))
        x, rise = np.concatenate([finite[:1], finite[at]]), np.concatenate([[0.0], (at + 1.0) / runs])
        look = {key: value for key, value in _look(i).items() if key not in ("marker", "markersize")}
        axes.step(x, rise, where="post", **look)  # type: ignore[arg-type]
    _scale(axes, "x", together)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel(_plain(quantity.label))
    axes.set_ylabel("share of runs")
    better = "more is better" if quantity.better == "more" else "less is better"
    caption = f"{quantity.label}: {quantity.meaning}; {better}."
    return Picture(_uri(figure), f"Distribution of {quantity.label} by controller", caption)


def _pareto(comparison: Comparison) -> Iterator[Picture]:
    preferred = ("effort", "error_rms")
    x, y = preferred if set(preferred) <= set(comparison.ranked) else (*comparison.ranked[:2], *preferred)[:2]
    if x not in comparison.ranked or y not in comparison.ranked:
        return
    pareto = comparison.pareto(x, y)
    finite = [n for n, p in pareto.points.items() if math.isfinite(p.x.value) and math.isfinite(p.y.value)]
    if not finite:
        return
    figure, axes = _new()
    for i, name in enumerate(comparison.controllers):
        if name in finite:
            point = pareto.points[name]
            look = {key: value for key, value in _look(i).items() if key != "linestyle"}
            bars = {"xerr": _bars(point.x), "yerr": _bars(point.y)}
            axes.errorbar(point.x.value, point.y.value, **bars, linestyle="none", capsize=2.5, **look)  # type: ignore[arg-type]
    front = [pareto.points[name] for name in pareto.front if name in finite]
    if len(front) > 1:
        axes.plot([p.x.value for p in front], [p.y.value for p in front], ":", color="0.35", zorder=0)
    _scale(axes, "x", np.array([pareto.points[name].x.value for name in finite]))
    _scale(axes, "y", np.array([pareto.points[name].y.value for name in finite]))
    axes.set_xlabel(_plain(f"median {pareto.x.label}"))
    axes.set_ylabel(_plain(f"median {pareto.y.label}"))
    best = ", ".join(name for name in pareto.front if name in finite)
    caption = f"Median {pareto.y.label} against median {pareto.x.label}. Pareto front: {best}."
    yield Picture(_uri(figure), caption, caption)


def _against(gathered: StudyComparisons) -> Iterator[Picture]:
    names = [name for name in (gathered.main, "effort") if name in gathered.quantities]
    for factor in (*gathered.results.factors, *gathered.results.manifest["varied"]):
        # For randomized numbers the main metric is enough.
        for metric in dict.fromkeys(names if factor in gathered.results.factors else names[:1]):
            shown = curves(gathered, str(metric), factor)
            if shown:
                yield _curves(gathered, gathered.quantities[str(metric)], factor, shown)


def _curves(gathered: StudyComparisons, quantity: Quantity, factor: str, shown: Sequence[LevelCurve]) -> Picture:
    figure, axes = _new()
    indices = {name: i for i, name in enumerate(gathered.controllers)}
    words = list(dict.fromkeys(word for curve in shown for word in curve.words))
    for curve in shown:
        x = [float(words.index(word)) for word in curve.words] if words else list(curve.at)
        y = [each.value if math.isfinite(each.value) else math.nan for each in curve.medians]
        bars = np.hstack([_bars(each) for each in curve.medians])
        axes.errorbar(x, y, yerr=bars, capsize=2.5, **_look(indices[curve.controller]))  # type: ignore[arg-type]
    if words:
        axes.set_xticks(range(len(words)), list(map(_plain, words)))
    else:
        _scale(axes, "x", np.array([x for curve in shown for x in curve.at]))
    heights = np.array([each.value for curve in shown for each in curve.medians])
    _scale(axes, "y", heights[np.isfinite(heights)])
    axes.set_xlabel(_plain(factor))
    axes.set_ylabel(_plain(f"median {quantity.label}"))
    caption = f"Median {quantity.label} against {factor}."
    return Picture(_uri(figure), f"{caption} One line per controller.", caption)


def _new() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, HEIGHT))
    # Computing a layout takes as long as drawing the picture.
    axes = figure.add_axes(MARGINS)
    axes.ticklabel_format(scilimits=(-3, 4))
    # Tick labels are long, and the picture is narrow.
    axes.locator_params(axis="x", nbins=3)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _plain(text: str) -> str:
    """Escape dollar signs, which would start a formula."""
    return text.replace("$", r"\$")


def _look(i: int) -> dict[str, object]:
    """Return the line style of the i-th controller, which differs by more than its colour."""
    look = {"color": f"C{i % 10}", "linestyle": STYLES[i % len(STYLES)], "linewidth": 1.8}
    return {**look, "marker": MARKERS[i % len(MARKERS)], "markersize": 5.0}


def _bars(estimate: Estimate) -> Array:
    """Return the lengths of the error bars, shape (2, 1); zero where the interval is unbounded."""
    sides = np.array([[estimate.value - estimate.low], [estimate.high - estimate.value]])
    return np.where(np.isfinite(sides), sides, 0.0)


def _scale(axes: Axes, axis: Literal["x", "y"], values: Array) -> None:
    if len(values) and values.min() > 0.0 and values.max() > WIDE * values.min():
        if axis == "x":
            axes.set_xscale("log")
        else:
            axes.set_yscale("log")


def _uri(figure: Figure) -> str:
    """Return the figure as a data URI of an SVG; equal figures give equal texts."""
    file = io.BytesIO()
    try:
        with mpl.rc_context({"svg.hashsalt": "erugin"}):
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    except ValueError as error:
        raise ModelError(f"a picture cannot be drawn: {error}") from error
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
