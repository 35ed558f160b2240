"""Pictures of growth: both axes logarithmic, medians with quartiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.ticker import FuncFormatter, NullLocator

from erugin.views.style import new_figure, save_figure

from .rounds import Timing

MARKS = "osD^vPX*"


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a picture.

    Attributes:
        x: sizes.
        y: times, or plain numbers.
        dashed: for what is no measurement of ours.
    """

    x: Sequence[float]
    y: Sequence[Timing | float]
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines by their label, over one pair of axes.

    Attributes:
        lines: by label.
        xlabel: with its unit.
        ylabel: likewise.
        unit: of the vertical axis, in seconds where lines are times.
        slope: of a thin line that shows growth as this power of x; None for none.
    """

    lines: Mapping[str, Line]
    xlabel: str
    ylabel: str
    unit: float = 1e-6
    slope: float | None = 1.0


def draw(panels: Sequence[Panel], target: Path) -> None:
    """Save panels side by side.

    Args:
        panels: from left to right.
        target: of the picture.
    """
    figure = new_figure(5.2 * len(panels), 4.0)
    for k, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), k + 1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks: set[float] = set()
        for j, (label, line) in enumerate(panel.lines.items()):
            middle = [y.median / panel.unit if isinstance(y, Timing) else y for y in line.y]
            style, mark = "--" if line.dashed else "-", MARKS[j % len(MARKS)]
            drawn = axes.plot(line.x, middle, style, label=label, marker=mark, markersize=4.0, linewidth=1.4)[0]
            spread = [y.quartiles for y in line.y if isinstance(y, Timing)]
            if len(spread) == len(line.x):
                low, high = ([s[i] / panel.unit for s in spread] for i in (0, 1))
                axes.fill_between(list(line.x), low, high, alpha=0.2, color=drawn.get_color(), linewidth=0.0)
            ticks |= set(line.x)
        if panel.slope is not None:
            first = next(iter(panel.lines.values()))
            last = first.y[-1].median / panel.unit if isinstance(first.y[-1], Timing) else first.y[-1]
            grown = [last * (x / first.x[-1]) ** panel.slope for x in first.x]
            axes.plot(first.x, grown, ":", color="0.5", linewidth=1.0, label=f"slope {panel.slope:g}")
        axes.set_xticks(sorted(ticks))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(panel.xlabel)
        axes.set_ylabel(panel.ylabel)
        axes.grid(True, which="major", color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.legend(fontsize=8, frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, target)
