"""Coordinates, and velocities, of a robot without points in space, over time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ..phased_trajectory import PhasedTrajectory
from .motion_places import Motion
from .panels import Panel, draw_panel, place_legend
from .style import new_figure

Array = NDArray[np.float64]


class Series:
    """Lines that grow with time.

    Attributes:
        figure: in which they are.
        title: above them.
    """

    def __init__(self, motion: Motion, *, velocities: bool = False) -> None:
        """Draw the whole motion.

        Args:
            motion: any.
            velocities: whether these are drawn beside the coordinates.
        """
        segments = motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
        labels = segments[0].labels
        panels = Panel.by_unit("coordinates", labels.coordinates, motion.q)
        if velocities:
            panels += Panel.by_unit("velocities", labels.velocities, motion.v)
        self.figure = new_figure(7.0, 0.8 + sum(panel.height for panel in panels))
        self.title = self.figure.suptitle("", family="monospace", fontsize=10)
        column: list[Axes] = list(
            self.figure.subplots(
                len(panels), 1, sharex=True, squeeze=False, height_ratios=[panel.height for panel in panels]
            )[:, 0]
        )
        self._t = motion.t
        self._lines: list[tuple[Line2D, Array]] = []
        for axes, panel in zip(column, panels, strict=True):
            drawn = draw_panel(axes, self._t, panel)
            place_legend(axes, panel)
            self._lines += list(zip(drawn, panel.values.T, strict=True))
            # What is seen stays the same while the lines grow.
            axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
        column[-1].set_xlabel("time [s]")

    def until(self, t: float) -> list[Line2D]:
        """Show what has come so far.

        Args:
            t: time [s].

        Returns:
            The lines.
        """
        k = int(np.searchsorted(self._t, t + 1e-12, side="right"))
        for line, values in self._lines:
            line.set_data(self._t[:k], values[:k])
        return [line for line, _ in self._lines]
