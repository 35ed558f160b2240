"""Cost of deriving and evaluating equations of motion over the number of links."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from ...robots.legendre import LegendreRow
from ..derivation import Cost
from .style import lines, new_figure

MARKERS = "osD^v"


def draw_derivation(family: str, costs: Sequence[Cost], rows: Sequence[LegendreRow], target: Path) -> None:
    """Three panels: time to derive, operations to evaluate, and the Legendre solvers.

    Args:
        family: name of the robot.
        costs: of several numbers of links.
        rows: of the Legendre solvers; may be empty.
        target: the file.
    """
    figure = new_figure(12.0, 4.2)
    panels: list[Axes] = list(figure.subplots(1, 3, squeeze=False)[0])
    names = list(dict.fromkeys(cost.formulation for cost in costs))
    for name, marker in zip(names, itertools.cycle(MARKERS), strict=False):
        own = [cost for cost in costs if cost.formulation == name]
        links = [cost.links for cost in own]
        panels[0].loglog(links, [1e3 * cost.seconds for cost in own], marker=marker, markersize=4, label=name)
        panels[1].loglog(links, [cost.motion for cost in own], marker=marker, markersize=4, label=name)
    for solver, marker in zip(dict.fromkeys(row.solver for row in rows), itertools.cycle(MARKERS), strict=False):
        chosen = [row for row in rows if row.solver == solver]
        numbers = [row.n for row in chosen]
        panels[2].loglog(numbers, [row.multiplications for row in chosen], marker=marker, markersize=4, label=solver)
    titles = (f"{family}: deriving M and h", f"{family}: evaluating the acceleration", "Legendre transform of a chain")
    labels = ("time [ms]", "arithmetic operations", "multiplications per step")
    for axes, title, label in zip(panels, titles, labels, strict=True):
        axes.set_title(title, fontsize=10)
        lines(axes, label, xlabel="number of links")
        ticks = sorted({cost.links for cost in costs})
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.minorticks_off()
    for axes in panels[1:]:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, frameon=False)
    figure.savefig(target)
