"""Pictures of a page, as data in it: distributions, Pareto fronts, and metrics against what is varied."""

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
"""Different numbers up to which each has a point of its own."""
PARTS, FEWEST = 8, 5
"""Parts into which more of them are cut, and runs that a part has at least."""


@dataclass(frozen=True)
class LevelCurve:
    """Medians of a metric of one controller.

    Attributes:
        controller: its name.
        at: levels, or medians of the parts; empty if they are words.
        words: levels that are words.
        medians: with their intervals, as many.
    """

    controller: str
    at: tuple[float, ...]
    words: tuple[str, ...]
    medians: tuple[Estimate, ...]


def curves(gathered: StudyComparisons, metric: str, factor: str) -> Sequence[LevelCurve]:
    """One curve per controller; none if there is only one level.

    Args:
        gathered: the results.
        metric: its name.
        factor: name of what is varied.
    """
    found: list[LevelCurve] = []
    for name, comparison in gathered.alone.items():
        given = gathered.columns[name].get(factor)
        if given is None or metric not in comparison.results[name]:
            continue
        values = worst_is_infinite(comparison.values(metric, name), gathered.quantities[metric].better)
        if given.dtype.kind in "OUb":
            texts = np.array([word(each) for each in given.tolist()], dtype=np.object_)
            words = tuple(dict.fromkeys(texts.tolist()))
            each = tuple(median(values[texts == word], gathered.confidence) for word in words)
            found.append(LevelCurve(name, (), words, each))
            continue
        known = np.isfinite(given.astype(np.float64))
        numbers, values = given[known].astype(np.float64), values[known]
        rows = _parts(numbers)
        at = tuple(float(np.median(numbers[part])) for part in rows)
        found.append(LevelCurve(name, at, (), tuple(median(values[part], gathered.confidence) for part in rows)))
    return [curve for curve in found if len(curve.medians) > 1 and any(math.isfinite(m.value) for m in curve.medians)]


def _parts(numbers: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    levels = np.unique(numbers)
    if len(levels) <= MOST_LEVELS:
        return [np.flatnonzero(numbers == level) for level in levels]
    order = np.argsort(numbers, kind="stable")
    return np.array_split(order, max(1, min(PARTS, len(order) // FEWEST)))


def word(value: object) -> str:
    """A level as text.

    Args:
        value: a word, a number, or True or False.
    """
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


Array = NDArray[np.float64]
WIDTH, HEIGHT = 3.4, 2.7
"""Of a picture [inches]: as wide as a telephone, so that its letters keep their size there."""
MARGINS = (0.21, 0.18, 0.69, 0.76)
"""Left and lower edge of the axes, their width and height, as shares of the picture's."""
POINTS = 200
"""Of a distribution function, at most."""
STYLES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*Xdh<>"
WIDE = 30.0
"""Ratio of the largest to the smallest number from which on an axis is logarithmic."""


@dataclass(frozen=True)
class Picture:
    """A picture and what it shows.

    Attributes:
        uri: the picture itself.
        alt: what it shows, for who does not see it.
        caption: below it.
    """

    uri: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Group:
    """Pictures of one kind.

    Attributes:
        title: of the group.
        told: how they are read.
        pictures: in their order.
    """

    title: str
    told: str
    pictures: tuple[Picture, ...]


def groups(gathered: StudyComparisons) -> Iterator[Group]:
    """All pictures of a study.

    Args:
        gathered: the results.

    Yields:
        Groups that have pictures.
    """
    shown = {name: _distribution(gathered, name) for name in gathered.quantities}
    drawn = tuple(each for each in shown.values() if isinstance(each, Picture))
    alike = [f"{name} = {number(each)}" for name, each in shown.items() if isinstance(each, float)]
    if drawn or alike:
        told = (
            "Share of all runs that are below a number; runs that had to stop, or have no finite metric, are missing."
        )
        told += f" The same in all runs: {', '.join(alike)}." if alike else ""
        yield Group("Distributions", told, drawn)
    together = gathered.together
    if together is not None:
        front = tuple(_pareto(together))
        if front:
            told = "Medians with their intervals on the same runs; the dotted line joins those that none beats in both."
            yield Group("Effort and accuracy", told, front)
    against = tuple(_against(gathered))
    if against:
        told = "Medians with their intervals, by level, or by parts of equally many runs where numbers are drawn."
        yield Group("What is varied", told, against)


def legend(gathered: StudyComparisons) -> list[tuple[str, str]]:
    """Name and line of each controller.

    Args:
        gathered: the results.
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
    """Distribution functions of a metric, the one number that it is in all runs, or None if there is nothing."""
    quantity, found = gathered.quantities[metric], dict[int, tuple[Array, int]]()
    for i, (name, comparison) in enumerate(gathered.alone.items()):
        if metric in comparison.results[name]:
            values = comparison.values(metric, name)
            finite = np.sort(values[np.isfinite(values)])
            if len(finite):
                found[i] = finite, len(values)
    if not found or quantity.better == "neither":
        return None
    together = np.concatenate([finite for finite, _ in found.values()])
    if together.min() == together.max() and all(len(finite) == runs for finite, runs in found.values()):
        return float(together[0])
    figure, axes = _new()
    for i, (finite, runs) in found.items():
        at = np.unique(np.linspace(0, len(finite) - 1, min(len(finite), POINTS)).astype(np.intp))
        x, rise = np.concatenate([finite[:1], finite[at]]), np.concatenate([[0.0], (at + 1.0) / runs])
        look = {key: value for key, value in _look(i).items() if key not in ("marker", "markersize")}
        axes.step(x, rise, where="post", **look)  # type: ignore[arg-type]
    _scale(axes, "x", together)
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel(_plain(quantity.label))
    axes.set_ylabel("share of runs")
    wish = "more is better" if quantity.better == "more" else "less is better"
    caption = f"{quantity.label}: {quantity.meaning}; {wish}."
    return Picture(_uri(figure), f"Distribution of {quantity.label} by controller", caption)


def _pareto(comparison: Comparison) -> Iterator[Picture]:
    wanted = ("effort", "error_rms")
    x, y = wanted if set(wanted) <= set(comparison.ranked) else (*comparison.ranked[:2], *wanted)[:2]
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
    caption = f"Median {pareto.y.label} against median {pareto.x.label}. Beaten by none in both: {best}."
    yield Picture(_uri(figure), caption, caption)


def _against(gathered: StudyComparisons) -> Iterator[Picture]:
    names = [name for name in (gathered.main, "effort") if name in gathered.quantities]
    for factor in (*gathered.results.factors, *gathered.results.manifest["varied"]):
        # Of what seeds vary the main metric is enough.
        for metric in dict.fromkeys(names if factor in gathered.results.factors else names[:1]):
            found = curves(gathered, str(metric), factor)
            if found:
                yield _curves(gathered, gathered.quantities[str(metric)], factor, found)


def _curves(gathered: StudyComparisons, quantity: Quantity, factor: str, found: Sequence[LevelCurve]) -> Picture:
    figure, axes = _new()
    places = {name: i for i, name in enumerate(gathered.controllers)}
    words = list(dict.fromkeys(word for curve in found for word in curve.words))
    for curve in found:
        x = [float(words.index(word)) for word in curve.words] if words else list(curve.at)
        y = [each.value if math.isfinite(each.value) else math.nan for each in curve.medians]
        bars = np.hstack([_bars(each) for each in curve.medians])
        axes.errorbar(x, y, yerr=bars, capsize=2.5, **_look(places[curve.controller]))  # type: ignore[arg-type]
    if words:
        axes.set_xticks(range(len(words)), list(map(_plain, words)))
    else:
        _scale(axes, "x", np.array([x for curve in found for x in curve.at]))
    heights = np.array([each.value for curve in found for each in curve.medians])
    _scale(axes, "y", heights[np.isfinite(heights)])
    axes.set_xlabel(_plain(factor))
    axes.set_ylabel(_plain(f"median {quantity.label}"))
    caption = f"Median {quantity.label} against {factor}."
    return Picture(_uri(figure), f"{caption} One line per controller.", caption)


def _new() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, HEIGHT))
    # A layout that is reckoned for each picture takes as long as the picture.
    axes = figure.add_axes(MARGINS)
    axes.ticklabel_format(scilimits=(-3, 4))
    # Numbers below the axis are long, and the picture is not wide.
    axes.locator_params(axis="x", nbins=3)
    axes.grid(True, color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _plain(text: str) -> str:
    """A name as it is, although dollars would make a formula of it."""
    return text.replace("$", r"\$")


def _look(i: int) -> dict[str, object]:
    """Line of the i-th controller: told by more than its colour."""
    look = {"color": f"C{i % 10}", "linestyle": STYLES[i % len(STYLES)], "linewidth": 1.8}
    return {**look, "marker": MARKERS[i % len(MARKERS)], "markersize": 5.0}


def _bars(estimate: Estimate) -> Array:
    """Lengths to both sides, shape (2, 1); none where the interval is open."""
    sides = np.array([[estimate.value - estimate.low], [estimate.high - estimate.value]])
    return np.where(np.isfinite(sides), sides, 0.0)


def _scale(axes: Axes, axis: Literal["x", "y"], values: Array) -> None:
    if len(values) and values.min() > 0.0 and values.max() > WIDE * values.min():
        if axis == "x":
            axes.set_xscale("log")
        else:
            axes.set_yscale("log")


def _uri(figure: Figure) -> str:
    """The figure as SVG; equal figures give equal texts."""
    file = io.BytesIO()
    try:
        with mpl.rc_context({"svg.hashsalt": "erugin"}):
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    except ValueError as error:
        raise ModelError(f"a picture cannot be drawn: {error}") from error
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
