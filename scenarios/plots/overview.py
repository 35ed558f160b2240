"""Coordinates, inputs and deviations of any motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...symbolic.errors import ModelError
from ..phased_trajectory import PhasedTrajectory
from ..trajectory import Trajectory
from .panels import FLOOR, Panel, draw_panel, place_legend
from .style import OBSTACLE_COLOR, PATH_COLOR, lines, new_figure, save

__all__ = ["FLOOR", "draw_coordinates", "draw_deviations", "draw_inputs", "overview", "overview_picture"]
Array = NDArray[np.float64]
WIDTH = 6.0
"""Of the panels [inches]; legends come beside them."""


def overview(
    motion: Trajectory | PhasedTrajectory, *, velocities: bool = False, energy: bool = False, deviations: bool = True
) -> Figure:
    """Panels over time, one above the other: coordinates and inputs, those of one unit in each, and deviations.

    What a motion does not have is left out. Samples whose status is not OK are shaded, and switches of a motion in
    phases are dotted lines.

    Args:
        motion: of any robot, which need not be known.
        velocities: whether these are shown, too.
        energy: whether T + V is shown, too.
        deviations: whether deviations from the program are shown, on a log axis.

    Raises:
        ModelError: for a motion without samples.
    """
    segments = [s for s in (motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)) if len(s)]
    if not segments:
        raise ModelError("there is no sample that could be plotted")
    panels = [_joined(segments, parts) for parts in _panels(segments, velocities, energy, deviations)]
    heights = [panel.height for _, panel in panels]
    figure = new_figure(WIDTH + max(panel.beside for _, panel in panels), 0.6 + sum(heights))
    column: list[Axes] = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, (t, panel) in zip(column, panels, strict=True):
        draw_panel(axes, t, panel)
        place_legend(axes, panel)
        for segment in segments[1:]:
            axes.axvline(float(segment.t[0]), color=PATH_COLOR, linestyle=":", zorder=1)
        for start, end in _troubled(segments):
            axes.axvspan(start, end, color=OBSTACLE_COLOR, alpha=0.12, linewidth=0, zorder=0)
    if any(True for _ in _troubled(segments)):
        column[0].set_title("shaded: status is not OK", fontsize=8, loc="right", color=OBSTACLE_COLOR)
    column[-1].set_xlabel("time [s]")
    figure.align_ylabels(column)
    return figure


def overview_picture(motion: Trajectory | PhasedTrajectory, target: Path) -> None:
    """Draw :func:`overview` into a file, whole or not at all.

    Args:
        motion: of any robot.
        target: the file, of any kind that matplotlib writes.
    """
    save(overview(motion), target)


def draw_coordinates(axes: Axes, trajectory: Trajectory) -> None:
    """Each coordinate, with its unit."""
    for i, label in enumerate(trajectory.labels.coordinates.legend):
        axes.plot(trajectory.t, trajectory.q[:, i], label=label)
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


def _panels(segments: Sequence[Trajectory], velocities: bool, energy: bool, deviations: bool) -> list[dict[int, Panel]]:
    """For each row of the figure the panels of the segments that have it; segments may have inputs of their own."""
    rows: dict[str, dict[int, Panel]] = {}
    for k, segment in enumerate(segments):
        labels = segment.labels
        found = Panel.by_unit("coordinates", labels.coordinates, segment.q)
        found += Panel.by_unit("velocities", labels.velocities, segment.v) if velocities else []
        found += Panel.by_unit("inputs", labels.inputs, segment.u)
        if deviations and segment.deviation.shape[1]:
            found.append(Panel("|deviation|", labels.rows, segment.deviation, magnitude=True))
        if energy:
            unit = f" [{labels.energy_unit}]" if labels.energy_unit else ""
            found.append(Panel(f"energy{unit}", ("T + V",), segment.energy[:, None]))
        for panel in found:
            rows.setdefault(panel.title, {})[k] = panel
    order = ("coordinates", "velocities", "inputs", "|deviation|", "energy")
    return sorted(rows.values(), key=lambda parts: order.index(next(iter(parts.values())).title.split(" ")[0]))


def _joined(segments: Sequence[Trajectory], parts: dict[int, Panel]) -> tuple[Array, Panel]:
    """Times, shape (n,), and lines of all segments, each name once."""
    names = tuple(dict.fromkeys(name for panel in parts.values() for name in panel.names))
    times: list[Array] = []
    values: list[Array] = []
    for k, panel in parts.items():
        whole = np.full((len(segments[k]) + 1, len(names)), np.nan)
        for i, name in enumerate(panel.names):
            whole[:-1, names.index(name)] = panel.values[:, i]
        # Not a number between segments: what jumps is not joined by a line.
        times.append(np.append(segments[k].t, segments[k].t[-1]))
        values.append(whole)
    first = next(iter(parts.values()))
    return np.concatenate(times), Panel(first.title, names, np.concatenate(values), first.magnitude)


def _troubled(segments: Sequence[Trajectory]) -> list[tuple[float, float]]:
    """Stretches of time in which the status is not OK."""
    found: list[tuple[float, float]] = []
    for segment in segments:
        bad = np.flatnonzero(np.diff(np.concatenate([[0], segment.status != 0, [0]])))
        last = len(segment) - 1
        found += [
            (float(segment.t[start]), float(segment.t[min(end, last)])) for start, end in bad.reshape(-1, 2).tolist()
        ]
    return found
