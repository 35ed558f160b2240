"""Picture of a field in space: path, obstacles at several instants, and the trace of a point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..simulation.field_motion import FieldMotion
from ..symbolic.errors import ModelError
from ..symbolic.validation import finite, vector
from .plane_field import FieldView
from .style import OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, finite_points, new_figure, require_samples, save_figure

Array = NDArray[np.float64]
SEARCH = 24
"""Grid points across the box in the search for the deepest point of an obstacle."""
HALVINGS = 40
LABEL: dict[str, Any] = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.6}


def draw_field_in_space(
    view: FieldView,
    motion: FieldMotion,
    times: Sequence[float],
    target: Path,
    *,
    path: Array,
    elevation: float = 22.0,
    azimuth: float = -65.0,
) -> None:
    """Draw the trace of a point in space, with path and obstacles.

    Obstacles are drawn at each instant, later ones darker, by their boundaries as seen from their deepest point: those
    that are not star-shaped about it are drawn in part.

    Args:
        view: the field and the visible box, in space.
        motion: motion of a point along the field.
        times: instants at which obstacles and point are drawn [s].
        target: path of the file.
        path: points of the path, shape (k, 3) [m].
        elevation: elevation of the view above the plane z = 0 [degrees].
        azimuth: azimuth of the view [degrees].

    Raises:
        ModelError: if the field is not spatial, there is no instant or no sample, or an angle is not finite.
        ShapeError: for instants or points of the path that are not finite.
    """
    if view.field.dimension != 3:
        raise ModelError(
            f"the picture requires a field in space, but {view.field.name!r} has {view.field.dimension} dimensions"
        )
    if not len(times):
        raise ModelError("times must contain at least one instant")
    require_samples(motion)
    times, points = vector("times", times, len(times)).tolist(), finite_points("path", path, 3)
    eye = {"elev": finite("elevation", elevation), "azim": finite("azimuth", azimuth)}
    figure = new_figure(8.0, 4.8)
    # 3D axes have no types; without an explicit order they would hide a line behind a whole ball.
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)
    axes.plot(*points.T, ":", color=PATH_COLOR, linewidth=1.6)
    axes.plot(*motion.x.T, color=POINT_COLOR, linewidth=2.2, zorder=5)
    for i, time in enumerate(times):
        shade = 1.0 if len(times) == 1 else 0.15 + 0.45 * i / (len(times) - 1)
        for j, obstacle in enumerate(view.field.obstacles):
            surface = boundary_seen_from_within(view, view.field.path.dimension - 1 + j, time)
            if surface is None:
                continue
            axes.plot_surface(*surface, color=OBSTACLE_COLOR, alpha=0.6 * shade, linewidth=0.0, shade=True)
            if i == len(times) - 1:
                top = surface[:, :, 0].mean(axis=1)
                place = (float(top[0]), float(top[1]), float(top[2]) + 0.05)
                axes.text(*place, obstacle.name, fontsize=8, ha="center", bbox=LABEL, zorder=4)
        here = motion.x[min(int(np.searchsorted(motion.t, time)), len(motion) - 1)]
        axes.plot(*here[:, None], "o", color=POINT_COLOR, markersize=5, zorder=6)
        axes.text(*here, f"   {time:g} s", fontsize=8, color=POINT_COLOR, va="bottom", bbox=LABEL, zorder=4)
    axes.set(xlim=(view.low[0], view.high[0]), ylim=(view.low[1], view.high[1]), zlim=(view.low[2], view.high[2]))
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.set_zlabel("z [m]")
    axes.set_box_aspect(tuple(view.high - view.low), zoom=1.2)
    # Along a short side labels would overlap.
    span = float((view.high - view.low).max())
    for axis, low, high in zip((axes.xaxis, axes.yaxis, axes.zaxis), view.low, view.high, strict=True):
        axis.set_major_locator(MaxNLocator(max(2, round(6 * float(high - low) / span))))
    axes.view_init(**eye)
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=PATH_COLOR, linestyle=":", linewidth=1.6, label="path"),
        Line2D([], [], color=POINT_COLOR, marker="o", linewidth=2.2, label="point and its way"),
        Patch(facecolor=OBSTACLE_COLOR, alpha=0.5, label="obstacle, later times darker"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save_figure(figure, target)


def boundary_seen_from_within(view: FieldView, row: int, time: float) -> Array | None:
    """Return where rays from an obstacle's deepest point first leave it, shape (3, 25, 49) [m]; None if outside.

    Args:
        view: the field and the box in which the obstacle is searched.
        row: index of its function among those of the field.
        time: the instant [s].
    """
    share: Array = np.arange(SEARCH, dtype=np.float64) / (SEARCH - 1)
    cells = np.indices((SEARCH,) * 3).reshape(3, -1).T
    places: Array = view.low + share[cells] * (view.high - view.low)

    def function(x: Array) -> Array:
        return view.probe.at(x, np.full(len(x), time))["f"][:, row]

    values = function(places)
    inmost = places[int(np.argmin(values))]
    if values.min() >= 0.0:
        return None
    polar, around = np.linspace(0.0, np.pi, 25)[:, None], np.linspace(0.0, 2.0 * np.pi, 49)[None, :]
    rays = np.stack(
        [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar) * np.ones_like(around)]
    ).reshape(3, -1)
    reach = np.full(rays.shape[1], np.nan)
    # Find the first point outside along each ray, then bisect.
    for part in share[1:]:
        length = float(part) * float(np.linalg.norm(view.high - view.low))
        out = np.isnan(reach) & (function(inmost + length * rays.T) > 0.0)
        reach[out] = length
    low, high = np.zeros_like(reach), np.nan_to_num(reach, nan=float(np.linalg.norm(view.high - view.low)))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = function(inmost + (middle * rays).T) < 0.0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.asarray((inmost[:, None] + low * rays).reshape(3, 25, 49))
