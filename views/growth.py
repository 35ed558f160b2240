"""Growth of an economy: factors and product as indices, and the subsidies that the programme requires, over years."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..simulation.trajectory import Trajectory
from .style import label_axes, new_figure

STYLES = ("-", "--", ":")


def draw_growth(motion: Trajectory, indices: Mapping[str, ca.SX], *, first_year: float) -> Figure:
    """Draw indices above and subsidies below.

    Args:
        motion: motion of an economy, with time in years.
        indices: scalar expressions by the name in the legend.
        first_year: year at t = 0.
    """
    figure = new_figure(7.0, 5.0)
    above: Axes
    below: Axes
    above, below = figure.subplots(2, 1, sharex=True)
    years = first_year + motion.t
    for style, (name, expression) in zip(STYLES, indices.items(), strict=False):
        above.plot(years, motion.evaluate(expression), style, color="black", label=name)
    label_axes(above, "index")
    below.axhline(0.0, color="0.6", linewidth=0.8)
    for style, label, values in zip(STYLES, motion.input_labels, motion.u.T, strict=False):
        below.plot(years, values, style, color="black", label=label)
    label_axes(below, "subsidies; taxes if negative", xlabel="year")
    for axes in (above, below):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
