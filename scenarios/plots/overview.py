"""Coordinates, inputs and deviations of any motion."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..trajectory import Trajectory
from .style import lines, new_figure

FLOOR = 1e-17
"""Deviations below this are rounding; a log axis needs a positive number in place of zero."""


def overview(trajectory: Trajectory) -> Figure:
    """Coordinates, inputs and deviations over time, one above the other; what a motion does not have is left out."""
    panels = [draw_coordinates]
    if trajectory.u.shape[1]:
        panels.append(draw_inputs)
    if trajectory.deviation.shape[1]:
        panels.append(draw_deviations)
    figure = new_figure(7.0, 2.4 * len(panels))
    column: list[Axes] = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
    for axes, draw in zip(column, panels, strict=True):
        draw(axes, trajectory)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    column[-1].set_xlabel("time [s]")
    return figure


def draw_coordinates(axes: Axes, trajectory: Trajectory) -> None:
    """Each coordinate, with its unit."""
    c = trajectory.robot.coordinates
    for i, (name, unit) in enumerate(zip(c.names, c.units, strict=True)):
        axes.plot(trajectory.t, trajectory.q[:, i], label=f"{name} [{unit}]" if unit else name)
    lines(axes, "coordinates")


def draw_inputs(axes: Axes, trajectory: Trajectory) -> None:
    """Each input, or component of the force, with its unit."""
    for i, label in enumerate(trajectory.input_labels):
        axes.plot(trajectory.t, trajectory.u[:, i], label=label)
    lines(axes, "inputs")


def draw_deviations(axes: Axes, trajectory: Trajectory) -> None:
    """Magnitude of each row's deviation, on a log axis."""
    for i, row in enumerate(trajectory.rows):
        axes.semilogy(trajectory.t, np.maximum(np.abs(trajectory.deviation[:, i]), FLOOR), label=row)
    lines(axes, "|deviation|")
