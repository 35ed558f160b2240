"""An animation of a plane field whose obstacles move, with a point that moves with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.animation import PillowWriter

from ...symbolic.arrays import positive
from ...symbolic.errors import ModelError
from ..field_motion import FieldMotion
from .field_view import FieldView
from .style import POINT_COLOR, new_figure, write_whole

CELLS = 120
ARROWS = 30


def animate_field(
    view: FieldView, motion: FieldMotion, target: Path, *, frames: int = 90, rate: float = 20.0, width: float = 7.0
) -> None:
    """A GIF of the field's directions, its curves and obstacles, and a point on its way.

    Args:
        view: the field and what is seen of it, in the plane.
        motion: the point that moves with it; its times are those that are shown.
        target: the file.
        frames: how many pictures, spread evenly over the motion.
        rate: pictures per second [1/s].
        width: of the picture [inches].

    Raises:
        ModelError: if the field is not plane, or a number is out of its range.
    """
    if view.field.dimension != 2:
        raise ModelError(f"the animation is plane, {view.field.name!r} has {view.field.dimension} dimensions")
    if frames < 1:
        raise ModelError(f"frames must be at least one, got {frames!r}")
    speed, size = positive("rate", rate), positive("width", width)
    span = view.high - view.low
    figure = new_figure(size, size * float(span[1] / span[0]) + 0.9)
    axes = figure.subplots()
    samples = np.unique(np.linspace(0, len(motion) - 1, frames).astype(int))
    x, y = view.grid(CELLS)
    columns, rows = view.grid(ARROWS)

    def write(path: Path) -> None:
        writer = PillowWriter(fps=max(1, round(speed)))
        writer.setup(figure, str(path), dpi=80)
        for i, k in enumerate(samples):
            if i == 1:
                # The layout of the first frame serves all; finding it anew costs more than the drawing.
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
