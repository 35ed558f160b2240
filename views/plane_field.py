"""Pictures and films of a plane field: streamlines, curves, obstacles, critical points, and a point on its path."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.animation import PillowWriter
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from ..constraints.field.probe import Probe, VelocityField
from ..constraints.verification.critical_points import CriticalPoint
from ..constraints.verification.field_report import FieldReport
from ..simulation.field_motion import FieldMotion
from ..simulation.storage.atomic_file import write_whole
from ..symbolic.errors import ModelError, NotFiniteInputError, ShapeError
from ..symbolic.validation import all_finite, finite, positive, reals, vector, whole
from .style import OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, drawable_text, new_figure, require_samples, save_figure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FieldView:
    """A field in a box of the plane or of space.

    Attributes:
        field: the field.
        low: lower corner of the box, shape (n,) [m].
        high: upper corner of the box, shape (n,) [m].
        p: values of the field's parameters, shape (np,).
    """

    field: VelocityField
    low: Array
    high: Array
    p: Array

    @classmethod
    def of(
        cls, field: VelocityField, low: ArrayLike, high: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> FieldView:
        """Create a view after checking the box.

        Args:
            field: field in the plane or in space.
            low: lower corner of the box, shape (n,) [m].
            high: upper corner of the box, shape (n,) [m].
            p: parameters of the field: a mapping from names that overrides nominal values, or the whole vector.

        Raises:
            ModelError: if the field is neither plane nor spatial, or the box is empty.
        """
        n = field.dimension
        if n > 3:
            raise ModelError(f"{field.name!r} has {n} dimensions: pictures require two or three")
        view = cls(field, vector("low", low, n), vector("high", high, n), field.parameters.values(p))
        if not (view.high > view.low).all():
            raise ModelError(f"the box from {view.low} to {view.high} is empty: high must exceed low")
        return view

    @functools.cached_property
    def probe(self) -> Probe:
        """Probe of the velocity ``w``, the path's functions ``phi``, and the field's functions ``f``."""
        x, t = ca.SX.sym("x", self.field.dimension), ca.SX.sym("t")
        outputs = {
            "w": self.field.velocity(x, t),
            "f": self.field.functions(x, t),
            "phi": self.field.path.functions(x, t),
        }
        return Probe.of("view", x, t, self.field.parameters.symbols, outputs, self.p)

    def grid(self, across: int) -> tuple[Array, Array]:
        """Return abscissas and ordinates of a plane grid of square cells, shape (rows, columns) each [m].

        Args:
            across: number of columns, at least 2.
        """
        across = whole("across", across, 2)
        width, height = self.high - self.low
        down = max(3, round(across * height / width))
        x: Array = self.low[0] + width * np.arange(across, dtype=np.float64) / (across - 1)
        y: Array = self.low[1] + height * np.arange(down, dtype=np.float64) / (down - 1)
        return np.tile(x, (down, 1)), np.tile(y[:, None], (1, across))

    def on(self, x: Array, y: Array, time: float) -> dict[str, Array]:
        """Return values on a plane grid, shape (k, rows, columns) each.

        Args:
            x: abscissas, shape (rows, columns) [m].
            y: ordinates, shape (rows, columns) [m].
            time: the instant [s].

        Raises:
            ShapeError: if x and y are not finite arrays of the same shape.
        """
        x, y = _grid(x, y)
        places = np.column_stack([x.ravel(), y.ravel()])
        values = self.probe.at(places, np.full(len(places), finite("time", time)))
        return {key: value.T.reshape(-1, *x.shape) for key, value in values.items()}

    def draw_curves(self, axes: Axes, x: Array, y: Array, values: Mapping[str, Array], *, names: bool = True) -> None:
        """Draw the path, the program curve, and the regions beyond barriers, with names.

        Args:
            axes: axes to draw in.
            x: abscissas of the grid, shape (rows, columns) [m].
            y: ordinates of the grid, shape (rows, columns) [m].
            values: values from :meth:`on` on that grid.
            names: True to label obstacles.

        Raises:
            ShapeError: if x, y and the values are not of one grid.
        """
        x, y = _grid(x, y)
        for key in ("phi", "f"):
            if np.shape(values[key])[1:] != x.shape:
                raise ShapeError(
                    f"values[{key!r}] must have shape (k, {x.shape[0]}, {x.shape[1]}), that of x and y "
                    f"behind k, got {np.shape(values[key])}"
                )
        axes.contour(x, y, values["phi"][0], [0.0], colors=[PATH_COLOR], linestyles=":", linewidths=1.2, zorder=3)
        axes.contour(x, y, values["f"][0], [0.0], colors=["black"], linestyles="--", linewidths=1.6, zorder=4)
        for obstacle, f in zip((*self.field.obstacles, *self.field.inside), values["f"][1:], strict=True):
            inside = (f < 0.0) & np.isfinite(f)
            if not inside.any():
                continue
            axes.contourf(x, y, f, [f[inside].min(), 0.0], colors=[OBSTACLE_COLOR], alpha=0.3, zorder=4)
            axes.contour(x, y, f, [0.0], colors=[OBSTACLE_COLOR], linewidths=1.4, zorder=5)
            if names:
                place = (float(x[inside].mean()), float(y[inside].mean()))
                box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.6}
                axes.text(
                    *place, obstacle.name, fontsize=8, ha="center", va="center", color="black", zorder=6, bbox=box
                )

    def frame(self, axes: Axes) -> None:
        """Set limits, labels with units, and equal scales.

        Args:
            axes: axes to set.
        """
        axes.set(xlim=(self.low[0], self.high[0]), ylim=(self.low[1], self.high[1]))
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(True, color="0.93", linewidth=0.8)
        axes.set_axisbelow(True)


def _grid(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Abscissas and ordinates that make up a grid."""
    columns, rows = reals("x", x), reals("y", y)
    if columns.shape != rows.shape or columns.ndim != 2 or min(columns.shape) < 2:
        raise ShapeError(
            "x and y must have one shape (rows, columns), of at least two each, such as grid() makes, got "
            f"{columns.shape} and {rows.shape}"
        )
    for name, values in (("x", columns), ("y", rows)):
        if not all_finite(values):
            raise NotFiniteInputError(f"{name} must be finite, got {values[~np.isfinite(values)][0]}")
    return columns, rows


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
    """Draw a field at one instant, or at several side by side.

    Streamlines are those of the field at that instant, coloured by speed; the path of a point is drawn up to it.

    Args:
        view: the field and the visible box, in the plane.
        times: instants [s], one panel each.
        target: path of the file.
        motion: motion of a point along the field.
        report: report of :func:`~erugin.constraints.verify`, for the critical points at the drawn instants.
        columns: number of panels in a row.
        title: title above all panels.

    Raises:
        ModelError: if the field is not plane, there is no instant, or for another kind of file.
        ShapeError: for instants that are not finite numbers.
    """
    save_figure(field_figure(view, times, motion=motion, report=report, columns=columns, title=title), target)


def field_figure(
    view: FieldView,
    times: Sequence[float],
    *,
    motion: FieldMotion | None = None,
    report: FieldReport | None = None,
    columns: int = 3,
    title: str = "",
) -> Figure:
    """Return the figure that :func:`draw_field` saves.

    Args:
        view: the field and the visible box, in the plane.
        times: instants [s], one panel each.
        motion: motion of a point along the field.
        report: report of :func:`~erugin.constraints.verify`.
        columns: number of panels in a row.
        title: title above all panels.
    """
    if view.field.dimension != 2:
        raise ModelError(
            f"streamlines require a plane field, but {view.field.name!r} has {view.field.dimension} dimensions"
        )
    if not len(times):
        raise ModelError("times must contain at least one instant")
    times = vector("times", times, len(times)).tolist()
    across = min(whole("columns", columns), len(times))
    down = -(-len(times) // across)
    width, height = view.high - view.low
    size = max(3.2, 11.0 / across)
    figure = new_figure(across * size + 0.9, down * (size * height / width + 0.55) + 0.8)
    panels: list[Axes] = list(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel())
    x, y = view.grid(CELLS)
    seen = [view.on(x, y, time) for time in times]
    outside = [np.where((values["f"][1:] < 0.0).any(axis=0), np.nan, values["w"]) for values in seen]
    speeds = [np.sqrt((w**2).sum(axis=0)) for w in outside]
    # Where barriers cover all that is seen there is no speed at all.
    fastest = max(float(speed.max(initial=0.0, where=np.isfinite(speed))) for speed in speeds)
    norm = Normalize(0.0, fastest or 1.0)
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
        figure.suptitle(drawable_text("title", title), fontsize=11)
    return figure


def _draw_way(axes: Axes, motion: FieldMotion) -> None:
    axes.plot(*motion.x.T, color=POINT_COLOR, linewidth=2.0, zorder=7)
    if len(motion):
        axes.plot(*motion.x[-1], "o", color=POINT_COLOR, markersize=6, markeredgecolor="white", zorder=8)


def _mark(axes: Axes, one: CriticalPoint) -> str:
    """Mark a critical point, fainter inside obstacles; return its key in MARKS."""
    extremum = one.kind in ("minimum", "maximum")
    key = "still" if one.of == "w" else "extremum" if extremum else one.kind
    face = "white" if key == "still" else "gold"
    axes.plot(
        *one.position, MARKS[key][0], color=face, markeredgecolor="black", markersize=6.5, markeredgewidth=0.9,
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


FILM_CELLS = 120
ARROWS = 30


def animate_field(
    view: FieldView, motion: FieldMotion, target: Path, *, frames: int = 90, rate: float = 20.0, width: float = 7.0
) -> None:
    """Write a GIF of the field's directions, its curves and obstacles, and a moving point.

    Args:
        view: the field and the visible box, in the plane.
        motion: motion of a point along the field, whose times are shown.
        target: path of the file.
        frames: number of pictures, spread evenly over the motion.
        rate: pictures per second [1/s].
        width: width of the picture [inches].

    Raises:
        ModelError: if the field is not plane, a number is out of its range, or for another kind of file.
    """
    if view.field.dimension != 2:
        raise ModelError(
            f"the animation requires a plane field, but {view.field.name!r} has {view.field.dimension} dimensions"
        )
    if target.suffix.lower() != ".gif":
        raise ModelError(f"an animation of a field is written as .gif, got {target.name!r}")
    if frames < 1:
        raise ModelError(f"frames must be at least one, got {frames!r}")
    require_samples(motion)
    count = min(whole("frames", frames), len(motion))
    speed, size = positive("rate", rate), positive("width", width)
    span = view.high - view.low
    figure = new_figure(size, size * float(span[1] / span[0]) + 0.9)
    axes = figure.subplots()
    samples = np.unique(np.linspace(0, len(motion) - 1, count).astype(int))
    x, y = view.grid(FILM_CELLS)
    columns, rows = view.grid(ARROWS)

    def write(path: Path) -> None:
        writer = PillowWriter(fps=max(1, round(speed)))
        writer.setup(figure, str(path), dpi=80)
        for i, k in enumerate(samples):
            if i == 1:
                # The layout of the first frame is used for all; computing it again costs more than the drawing.
                figure.set_layout_engine("none")
            axes.clear()
            time = float(motion.t[k])
            values, few = view.on(x, y, time), view.on(columns, rows, time)
            free = (few["f"][1:] > 0.0).all(axis=0)
            u, v = few["w"] / np.maximum(np.sqrt((few["w"] ** 2).sum(axis=0)), 1e-12)
            axes.quiver(
                columns[free], rows[free], u[free], v[free], color="0.7", scale=1.25 * ARROWS, width=0.0018, zorder=2,
                pivot="mid",
            )  # fmt: skip
            view.draw_curves(axes, x, y, values)
            axes.plot(*motion.x[: k + 1].T, color=POINT_COLOR, linewidth=2.0, zorder=7)
            axes.plot(*motion.x[k], "o", color=POINT_COLOR, markersize=7, markeredgecolor="white", zorder=8)
            view.frame(axes)
            axes.set_title(
                f"t = {time:5.2f} s   |w| = {float(np.linalg.norm(motion.w[k])):.2f} m/s",
                family="monospace",
                fontsize=10,
            )
            writer.grab_frame()
        writer.finish()

    write_whole(target, write)
