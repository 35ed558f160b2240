"""Coordinates, velocities, inputs and deviations of any motion over time, in one panel per unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from ..simulation.labels import Columns
from ..simulation.phased_trajectory import PhasedTrajectory
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError
from .robot_drawing import Motion
from .style import OBSTACLE_COLOR, PATH_COLOR, label_axes, new_figure, save_figure

Array = NDArray[np.float64]
HEIGHT = 2.2
"""Height of a panel with few lines [inches]."""
ENTRY = 0.19
"""Height of an entry of a legend [inches]."""
LETTER = 0.062
"""Width of a letter of a legend [inches]."""
FEW = 10
"""Largest number of lines that the usual colours can distinguish."""
COLUMN = 16
"""Largest number of entries in a column of a legend."""
DARK = 0.82
"""Factor on a colour's brightness, so that yellow is visible on white."""
DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over time that share an axis.

    Attributes:
        title: label of the axis, with the unit.
        names: names in the legend, one for each line.
        values: values of the lines, shape (N, lines).
        magnitude: True to draw magnitudes on a logarithmic axis.
    """

    title: str
    names: tuple[str, ...]
    values: Array
    magnitude: bool = False

    @classmethod
    def by_unit(cls, quantity: str, columns: Columns, values: Array) -> list[Panel]:
        """Return a panel for each unit.

        Args:
            quantity: name of the quantity.
            columns: their names and units.
            values: values of the columns, shape (N, number of them).
        """
        panels: list[Panel] = []
        for unit in dict.fromkeys(columns.units):
            places = [i for i, own in enumerate(columns.units) if own == unit]
            names = tuple(columns.names[i] for i in places)
            panels.append(cls(f"{quantity} [{unit}]" if unit else quantity, names, values[:, places]))
        return panels

    @property
    def height(self) -> float:
        """Required height [inches]."""
        return max(HEIGHT, ENTRY * (min(len(self.names), COLUMN) + 1))

    @property
    def legend_width(self) -> float:
        """Approximate width of the legend [inches]."""
        longest = max((len(name) for name in self.names), default=0)
        return math.ceil(len(self.names) / COLUMN) * (0.5 + LETTER * longest)


FLOOR = 1e-17
"""Magnitudes below this are rounding errors; a log axis requires a positive value in place of zero."""


def draw_panel(axes: Axes, t: Array, panel: Panel) -> list[Line2D]:
    """Draw the lines, and label the axis.

    Args:
        axes: axes to draw in.
        t: times, shape (N,) [s].
        panel: the panel.
    """
    drawn: list[Line2D] = []
    count = len(panel.names)
    for i, name in enumerate(panel.names):
        color, dash = (f"C{i}", "-") if count <= FEW else (_color(i, count), DASHES[i % len(DASHES)])
        values = panel.values[:, i]
        if panel.magnitude:
            values = np.maximum(np.abs(values), FLOOR)
        # matplotlib hides labels that start with an underscore.
        label = f"\u200b{name}" if name.startswith("_") else name
        drawn += axes.plot(t, values, color=color, linestyle=dash, linewidth=1.3, label=label)
    if panel.magnitude:
        axes.set_yscale("log")
    label_axes(axes, panel.title)
    return drawn


def place_legend(axes: Axes, panel: Panel) -> None:
    """Place the legend to the right of the panel, in as many columns as necessary.

    Args:
        axes: axes of the panel.
        panel: the panel that was drawn.
    """
    if panel.names:
        axes.legend(
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize=8,
            ncols=math.ceil(len(panel.names) / COLUMN),
            handlelength=1.8,
            labelspacing=0.3,
        )


def _color(i: int, count: int) -> tuple[float, float, float, float]:
    """Return one of many colours: neighbours differ by their dashes, others by their colours."""
    shades = math.ceil(count / len(DASHES))
    red, green, blue, _ = colormaps["turbo"](0.05 + 0.9 * (i // len(DASHES)) / max(1, shades - 1))
    return DARK * red, DARK * green, DARK * blue, 1.0


class CoordinateSeries:
    """Lines that grow with time.

    Attributes:
        figure: figure of the lines.
        title: title above the lines.
    """

    def __init__(self, motion: Motion, *, velocities: bool = False) -> None:
        """Draw the whole motion.

        Args:
            motion: the motion.
            velocities: True to draw velocities, too.
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
            # The limits stay the same while the lines grow.
            axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())
        column[-1].set_xlabel("time [s]")

    def until(self, t: float) -> list[Line2D]:
        """Show the motion up to a time.

        Args:
            t: time [s].

        Returns:
            The lines.
        """
        k = int(np.searchsorted(self._t, t + 1e-12, side="right"))
        for line, values in self._lines:
            line.set_data(self._t[:k], values[:k])
        return [line for line, _ in self._lines]


WIDTH = 6.0
"""Width of the panels without their legends [inches]."""


def plot(
    motion: Trajectory | PhasedTrajectory, *, velocities: bool = False, energy: bool = False, deviations: bool = True
) -> Figure:
    """Plot coordinates and inputs over time, in one panel per unit, and deviations.

    Quantities that a motion does not have are omitted. Samples whose status is not OK are shaded, and switches of a
    motion in phases are dotted lines.

    Args:
        motion: the motion, loaded with or without its robot.
        velocities: True to plot velocities, too.
        energy: True to plot T + V, too.
        deviations: True to plot deviations from the program on a log axis, too.

    Raises:
        ModelError: for a motion without samples.
    """
    segments = [s for s in (motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)) if len(s)]
    if not segments:
        raise ModelError("the motion has no sample to plot")
    panels = [_joined(segments, parts) for parts in _panels(segments, velocities, energy, deviations)]
    heights = [panel.height for _, panel in panels]
    figure = new_figure(WIDTH + max(panel.legend_width for _, panel in panels), 0.6 + sum(heights))
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
    """Save :func:`plot` to a file, atomically.

    Args:
        motion: the motion.
        target: path of the file, of any type that matplotlib supports.
    """
    save_figure(plot(motion), target)


def _panels(segments: Sequence[Trajectory], velocities: bool, energy: bool, deviations: bool) -> list[dict[int, Panel]]:
    """Return the panels of each row of the figure by segment; segments may have different inputs."""
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
    """Return times, shape (n,), and lines of all segments, each name once."""
    names = tuple(dict.fromkeys(name for panel in parts.values() for name in panel.names))
    times: list[Array] = []
    values: list[Array] = []
    for k, panel in parts.items():
        whole = np.full((len(segments[k]) + 1, len(names)), np.nan)
        for i, name in enumerate(panel.names):
            whole[:-1, names.index(name)] = panel.values[:, i]
        # NaN between segments, so that no line connects them across a jump.
        times.append(np.append(segments[k].t, segments[k].t[-1]))
        values.append(whole)
    first = next(iter(parts.values()))
    return np.concatenate(times), Panel(first.title, names, np.concatenate(values), first.magnitude)


def _troubled(segments: Sequence[Trajectory]) -> list[tuple[float, float]]:
    """Return the time intervals in which the status is not OK."""
    found: list[tuple[float, float]] = []
    for segment in segments:
        bad = np.flatnonzero(np.diff(np.concatenate([[0], segment.status != 0, [0]])))
        last = len(segment) - 1
        found += [
            (float(segment.t[start]), float(segment.t[min(end, last)])) for start, end in bad.reshape(-1, 2).tolist()
        ]
    return found
