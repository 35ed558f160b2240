"""Pictures of a plane field: streamlines, curves, obstacles, critical points, and a point on its way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...constraints.verification import CriticalPoint, FieldReport
from ...symbolic.errors import ModelError
from ..field_motion import FieldMotion
from .field_view import FieldView
from .style import OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, new_figure, save

Array = NDArray[np.float64]
CELLS = 160
SPEED_MAP = "viridis_r"
MARKS: dict[str, tuple[str, str]] = {
    "saddle": ("X", "saddle of f"),
    "extremum": ("P", "extremum of f"),
    "degenerate": ("D", "degenerate critical point of f"),
    "crossing": ("s", "crossing of two curves"),
    "still": ("o", "w = 0"),
}
"""Marker and label of each kind of critical point."""


def draw_field(
    view: FieldView,
    times: Sequence[float],
    target: Path,
    *,
    motion: FieldMotion | None = None,
    report: FieldReport | None = None,
    columns: int = 3,
    title: str = "",
) -> None:
    """A field at several instants side by side, or at one.

    Streamlines are those of the field at that instant, their colour is the speed; the way of a point is drawn up to it.

    Args:
        view: the field and what is seen of it, in the plane.
        times: instants [s]; one panel each.
        target: the file.
        motion: a point that moves with the field.
        report: of :func:`~erugin.constraints.verify`, for the critical points at those of its instants that are drawn.
        columns: how many panels stand side by side.
        title: above all panels.

    Raises:
        ModelError: if the field is not plane, or there is no instant.
    """
    save(field_figure(view, times, motion=motion, report=report, columns=columns, title=title), target)


def field_figure(
    view: FieldView,
    times: Sequence[float],
    *,
    motion: FieldMotion | None = None,
    report: FieldReport | None = None,
    columns: int = 3,
    title: str = "",
) -> Figure:
    """What :func:`draw_field` saves.

    Args:
        view: the field and what is seen of it, in the plane.
        times: instants [s]; one panel each.
        motion: a point that moves with the field.
        report: of :func:`~erugin.constraints.verify`.
        columns: how many panels stand side by side.
        title: above all panels.
    """
    if view.field.dimension != 2:
        raise ModelError(f"streamlines are plane, {view.field.name!r} has {view.field.dimension} dimensions")
    if not len(times):
        raise ModelError("times must hold at least one instant")
    across = min(columns, len(times))
    down = -(-len(times) // across)
    width, height = view.high - view.low
    size = max(3.2, 11.0 / across)
    figure = new_figure(across * size + 0.9, down * (size * height / width + 0.55) + 0.8)
    panels: list[Axes] = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel())
    x, y = view.grid(CELLS)
    seen = [view.on(x, y, time) for time in times]
    outside = [np.where((values["f"][1:] < 0.0).any(axis=0), np.nan, values["w"]) for values in seen]
    speeds = [np.sqrt((w**2).sum(axis=0)) for w in outside]
    norm = Normalize(0.0, max(float(np.nanmax(speed)) for speed in speeds))
    marked: set[str] = set()
    for k, (axes, time) in enumerate(zip(panels, times, strict=False)):
        w = outside[k]
        flow = axes.streamplot(
            x, y, w[0], w[1], color=speeds[k], cmap=SPEED_MAP, norm=norm, density=1.2, linewidth=0.8, arrowsize=0.7
        )
        view.draw_curves(axes, x, y, seen[k])
        if motion is not None:
            _draw_way(axes, motion.until(time + 1e-12))
        if report is not None:
            points = (*report.critical_points, *report.stagnation_points)
            marked |= {_mark(axes, one) for one in points if one.time == time}
        view.frame(axes)
        axes.set_title(f"t = {time:g} s", fontsize=10)
        if k == 0:
            figure.colorbar(flow.lines, ax=panels, label="speed |w| [m/s]", shrink=0.8, aspect=30, pad=0.01)
    for axes in panels[len(times) :]:
        axes.set_visible(False)
    for k, axes in enumerate(panels):
        axes.set_ylabel("y [m]" if k % across == 0 else "")
        axes.set_xlabel("x [m]" if k + across >= len(times) else "")
    figure.legend(
        handles=_handles(view, motion, marked), loc="outside lower center", ncols=4 if across > 1 else 3, frameon=False,
        fontsize=9,
    )  # fmt: skip
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def _draw_way(axes: Axes, motion: FieldMotion) -> None:
    axes.plot(*motion.x.T, color=POINT_COLOR, linewidth=2.0, zorder=7)
    if len(motion):
        axes.plot(*motion.x[-1], "o", color=POINT_COLOR, markersize=6, markeredgecolor="white", zorder=8)


def _mark(axes: Axes, one: CriticalPoint) -> str:
    """Mark a critical point, fainter inside obstacles; its key in MARKS."""
    extremum = one.kind in ("minimum", "maximum")
    key = "still" if one.of == "w" else "extremum" if extremum else one.kind
    face = "white" if key == "still" else "gold"
    axes.plot(
        *one.place, MARKS[key][0], color=face, markeredgecolor="black", markersize=6.5, markeredgewidth=0.9,
        alpha=0.45 if one.inside else 1.0, linestyle="none", zorder=9,
    )  # fmt: skip
    return key


def _handles(view: FieldView, motion: FieldMotion | None, marked: set[str]) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=PATH_COLOR, linestyle=":", linewidth=1.2, label="path"),
        Line2D([], [], color="black", linestyle="--", linewidth=1.6, label="program curve F = 0"),
    ]
    if view.field.obstacles or view.field.inside:
        handles.append(Patch(facecolor=OBSTACLE_COLOR, alpha=0.3, label="beyond a barrier"))
    if motion is not None:
        handles.append(Line2D([], [], color=POINT_COLOR, marker="o", linewidth=2.0, label="point and its way"))
    for key, (marker, label) in MARKS.items():
        if key in marked:
            face = "white" if key == "still" else "gold"
            handles.append(
                Line2D([], [], color=face, marker=marker, linestyle="none", markeredgecolor="black", label=label)
            )
    return handles
