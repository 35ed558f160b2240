"""Growth of an economy: factors and product as indices, and the subsidies that the programme requires, over years."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

import casadi as ca
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..simulation.trajectory import Trajectory
from ..symbolic.validation import finite
from .style import label_axes, new_figure, require_samples

STYLES = ("-", "--", ":")


def draw_growth(motion: Trajectory, indices: Mapping[str, ca.SX], *, first_year: float) -> Figure:
    """Draw indices above and subsidies below.

    Args:
        motion: motion of an economy, with time in years.
        indices: scalar expressions by the name in the legend.
        first_year: year at t = 0.

    Raises:
        ModelError: for a year that is not finite, or a motion without samples.
    """
    require_samples(motion)
    start = finite("first_year", first_year)
    figure = new_figure(7.0, 5.0)
    above: Axes
    below: Axes
    above, below = figure.subplots(2, 1, sharex=True)
    years = start + motion.t
    for style, (name, expression) in zip(cycle(STYLES), indices.items()):
        above.plot(years, motion.evaluate(expression), style, color="black", label=name)
    label_axes(above, "index")
    below.axhline(0.0, color="0.6", linewidth=0.8)
    for style, label, values in zip(cycle(STYLES), motion.input_labels, motion.u.T):
        below.plot(years, values, style, color="black", label=label)
    label_axes(below, "subsidies; taxes if negative", xlabel="year")
    for axes in (above, below):
        if len(axes.get_legend_handles_labels()[0]):
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
