"""Picture of swing-ups, one controller beside another: postures, and angles, torques and energy over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError
from ..symbolic.validation import positive
from .style import ARM_COLOR, PATH_COLOR, label_axes, new_figure, require_samples

MOST = 1000
"""Flashes in one column."""


def draw_swing_ups(runs: Mapping[str, Trajectory], *, flash: float = 0.1, until: float = np.inf) -> Figure:
    """Draw a column for each run: the arm at several instants, then coordinates, inputs and energy.

    Early instants are dark and late ones bright; the path of the last point of the chain is drawn, too. The dashed line
    is the energy at the end of each run; dotted lines are the limits of its inputs.

    Args:
        runs: runs of robots with a ``chain`` in the plane, by the title of the column.
        flash: interval between drawn instants [s].
        until: latest time drawn [s].

    Raises:
        ModelError: if there are no runs, or one without samples, a robot has no chain, a time is not positive, or there
            would be more than a thousand flashes.
    """
    positive("flash", flash)
    if not until > 0.0:
        raise ModelError(f"until must be greater than zero, got {until!r}")
    if not runs or not all(run.robot.chain for run in runs.values()):
        raise ModelError("runs must contain one or more runs of robots with a chain of points, such as an arm")
    for run in runs.values():
        require_samples(run)
    longest = min(until, max(float(run.t[-1] - run.t[0]) for run in runs.values()))
    if longest / flash > MOST:
        raise ModelError(f"flash = {flash:g} s in {longest:g} s makes more than {MOST} flashes: increase flash=")
    figure = new_figure(3.7 * len(runs), 10.0)
    heights = {"height_ratios": (2.4, 1.0, 1.0, 1.0)}
    grid: NDArray[np.object_] = figure.subplots(4, len(runs), squeeze=False, sharey="row", gridspec_kw=heights)
    for column, (title, run) in enumerate(runs.items()):
        seen = run.t <= run.t[0] + until
        cells: list[Axes] = list(grid[:, column])
        place, angles, inputs, energy = cells
        _flashes(place, run, flash, until)
        label_axes(place, "" if column else "y [m]", xlabel="x [m]")
        place.set_title(title, fontsize=10)
        for i, name in enumerate(run.robot.coordinates.names):
            angles.plot(run.t[seen], run.q[seen, i], linewidth=1.3, label=name)
        given = run.labels.inputs.names
        # A force that the program asks for has no limits, and a free motion no inputs.
        limits = run.robot.limits.effort if given == run.robot.input_names else np.full(len(given), np.inf)
        for i, name in enumerate(given):
            (line,) = inputs.plot(run.t[seen], run.u[seen, i], linewidth=1.0, color=f"C{2 + i}", label=name)
            if np.isfinite(limit := limits[i]):
                for sign in (-1.0, 1.0):
                    inputs.axhline(sign * limit, color=line.get_color(), linestyle=":", linewidth=1.0)
        energy.plot(run.t[seen], run.energy[seen], linewidth=1.3, color=ARM_COLOR)
        energy.axhline(run.energy[-1], color=PATH_COLOR, linestyle="--", linewidth=1.0)
        unit = next((f" [{unit}]" for unit in run.labels.inputs.units if unit), "")
        units = (f"angles [{run.robot.coordinates.units[0]}]", f"inputs{unit}", "energy [J]")
        for axes, label in zip((angles, inputs, energy), units, strict=True):
            label_axes(axes, label if column == 0 else "", xlabel="time [s]" if axes is energy else "")
        for axes in (angles, inputs) if given else (angles,):
            axes.legend(loc="best", fontsize=8, frameon=False)
    return figure


def _flashes(axes: Axes, run: Trajectory, flash: float, until: float) -> None:
    chain = np.stack([run.evaluate(run.robot.points[name]) for name in run.robot.chain], axis=1)
    end = min(until, float(run.t[-1] - run.t[0]))
    times = np.arange(0.0, end + 1e-9, flash)
    shown = np.searchsorted(run.t - run.t[0], times - 1e-9)
    shades = colormaps["viridis"](np.linspace(0.0, 1.0, len(shown)))
    last = shown[-1]
    axes.plot(*chain[: last + 1, -1].T, color=PATH_COLOR, linewidth=0.6)
    for k, shade in zip(shown, shades, strict=True):
        axes.plot(*chain[k].T, "-o", color=shade, linewidth=1.4, markersize=2.5)
    reach = 1.08 * float(np.abs(chain).max())
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
