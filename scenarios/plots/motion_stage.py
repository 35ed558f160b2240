"""The plane or the space in which a robot is drawn."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from numpy.typing import NDArray

from .motion_places import TRIAD, MotionPlaces, Posture
from .style import PATH_COLOR

Array = NDArray[np.float64]
Color = str | tuple[float, float, float, float]
AXES = "xyz"
TRIAD_COLORS = ("tab:red", "tab:green", "tab:blue")


class Stage:
    """Axes of fixed limits and equal scales for the motion of a robot.

    Attributes:
        axes: of matplotlib, in the plane or in space.
    """

    def __init__(self, figure: Figure, places: MotionPlaces, position: int | SubplotSpec = 111) -> None:
        """Lay out the axes.

        Args:
            figure: in which they are.
            places: all that is to be seen.
            position: in the figure, as ``Figure.add_subplot`` takes it.
        """
        low, high = places.limits
        self._dimension, self._triad = places.dimension, TRIAD * float((high - low).max())
        space = {"projection": "3d"} if self._dimension == 3 else {}
        # matplotlib's stubs know little of three-dimensional axes.
        self.axes = cast(Any, figure.add_subplot(position, **space))
        for name, start, end in zip(AXES, low, high, strict=False):
            getattr(self.axes, f"set_{name}lim")(float(start), float(end))
            getattr(self.axes, f"set_{name}label")(f"{name} [m]")
        if self._dimension == 3:
            # Of what is tall the labels would be cut off below.
            tall = (high - low)[2] > 1.1 * (high - low)[:2].max()
            self.axes.set_box_aspect(tuple(high - low), zoom=0.78 if tall else 0.85)
            self.axes.zaxis.labelpad = 14.0
            self.axes.view_init(elev=22.0, azim=-58.0)
            self.axes.tick_params(labelsize=8, pad=1)
            for name, extent in zip(AXES, (high - low) / (high - low).max(), strict=True):
                self.axes.locator_params(axis=name, nbins=max(2, round(5 * float(extent))))
        else:
            self.axes.set_aspect("equal", adjustable="box")
            self.axes.grid(True, color="0.92", linewidth=0.8)
            self.axes.set_axisbelow(True)

    def robot(self, posture: Posture, color: Color, *, width: float = 2.0, alpha: float = 1.0) -> list[Any]:
        """The robot at one instant.

        Args:
            posture: where it is.
            color: of its links.
            width: of its links [points].
            alpha: 1 if it hides what is behind it.

        Returns:
            What was drawn, to be removed again.
        """
        drawn: list[Any] = []
        style = {"color": color, "alpha": alpha, "solid_capstyle": "round", "zorder": 4}
        for corners, kind in posture.lines:
            if kind == "wheel":
                drawn += self.axes.plot(*corners.T, **style, linewidth=2.4 * width)
            else:
                size = 2.2 if len(posture.lines) > 12 else 1.6 * width + 1.0
                drawn += self.axes.plot(*corners.T, "-o", **style, linewidth=width, markersize=size)
        if len(posture.points):
            drawn += self.axes.plot(*posture.points.T, "o", color=color, alpha=alpha, zorder=4)
        for origin, axes in posture.triads:
            for axis, own in zip(axes.T, TRIAD_COLORS, strict=True):
                ends = np.array([origin, origin + self._triad * axis])
                drawn += self.axes.plot(*ends.T, color=own, alpha=alpha, linewidth=1.6, zorder=5)
        return drawn

    def ground(self, posture: Posture) -> list[Any]:
        """Marks at the places that do not move with the robot.

        Args:
            posture: any.

        Returns:
            What was drawn.
        """
        if not len(posture.still):
            return []
        return list(self.axes.plot(*posture.still.T, "s", color="black", markersize=5, linestyle="none", zorder=6))

    def way(self, way: Array, color: Color = PATH_COLOR, *, label: str = "", width: float = 1.2) -> list[Any]:
        """The way of a point.

        Args:
            way: shape (k, dimension) [m].
            color: of the line.
            label: in the legend.
            width: of the line [points].
        """
        return list(self.axes.plot(*way.T, color=color, linewidth=width, label=label, zorder=3))
