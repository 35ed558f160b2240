"""Picture of two-wheel robots under several controllers from one start, with a planned motion."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..controllers.baselines.differential_drive import PlanarMotion
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError
from .style import PATH_COLOR, label_axes, new_figure, require_samples

SMALLEST = 1e-6
"""Smallest distance drawn [m]."""


def draw_two_wheel_tracking(motion: PlanarMotion, runs: Mapping[str, Trajectory]) -> Figure:
    """Draw the path of the axle in the plane, and its distance from the planned position and path over time.

    Args:
        motion: the planned motion, without further parameters.
        runs: the run under each controller, by the name in the legend.

    Raises:
        ModelError: if there are no runs, or one without samples.
    """
    if not runs:
        raise ModelError("runs must hold at least one motion")
    for run in runs.values():
        require_samples(run)
    figure = new_figure(9.0, 7.4)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.1, 1.0))
    plane: Axes = figure.add_subplot(grid[0, :])
    late: Axes = figure.add_subplot(grid[1, 0])
    beside: Axes = figure.add_subplot(grid[1, 1], sharex=late, sharey=late)
    longest = max(runs.values(), key=lambda run: float(run.t[-1]))
    path = longest.evaluate(motion.place)
    plane.plot(*path.T, color=PATH_COLOR, linestyle="--", linewidth=1.2, label="planned")
    for name, run in runs.items():
        axle = run.evaluate(motion.robot.points["axle"])
        plane.plot(*axle.T, linewidth=1.4, label=name)
        late.semilogy(run.t, _shown(axle - run.evaluate(motion.place)), linewidth=1.4)
        beside.semilogy(run.t, _distances(axle, path), linewidth=1.4)
    start = next(iter(runs.values())).evaluate(motion.robot.points["axle"])[0]
    plane.plot(*start, "o", color="black", markersize=6, label="start")
    plane.plot(*path[0], "o", color=PATH_COLOR, markersize=6, label="planned start")
    label_axes(plane, "y [m]", xlabel="x [m]")
    plane.set_aspect("equal", adjustable="datalim")
    label_axes(late, "axle to its planned place [m]", xlabel="time [s]")
    label_axes(beside, "axle to the planned path [m]", xlabel="time [s]")
    handles, labels = plane.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _shown(apart: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(np.hypot(apart[:, 0], apart[:, 1]), SMALLEST)


def _distances(points: NDArray[np.float64], path: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance from each point to the nearest segment of a polyline."""
    first, along = path[:-1], np.diff(path, axis=0)
    length2 = np.maximum((along**2).sum(axis=1), SMALLEST**2)
    found = np.empty(len(points))
    for i, point in enumerate(points):
        share = np.clip(((point - first) * along).sum(axis=1) / length2, 0.0, 1.0)
        away = first + share[:, None] * along - point
        found[i] = np.sqrt((away**2).sum(axis=1).min())
    return np.maximum(found, SMALLEST)
