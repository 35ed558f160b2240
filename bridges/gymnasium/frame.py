"""A picture of a robot as it stands, with the way that a point of it has come."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...scenarios.plots.motion_places import TRIAD, MotionPlaces, Places
from ...scenarios.plots.motion_stage import AXES, Stage
from ...scenarios.plots.skeleton import Skeleton
from ...scenarios.plots.style import ARM_COLOR, POINT_COLOR, lines, new_figure
from ...symbolic.kernel import Kernel
from .task import Task

Array = NDArray[np.float64]
SIZE, RESOLUTION = 5.0, 80
"""Of a frame, square [inches], and its dots per inch."""
WIDER = 1.3
"""By how much more than what it must show a window grows, so that it seldom has to."""


class Camera:
    """Takes the states of an episode and shows the last of them; a robot without points is shown by its coordinates."""

    def __init__(self, task: Task) -> None:
        """Find out how the robot is drawn.

        Args:
            task: with the robot.
        """
        self._task = task
        robot = task.setup.robot
        c = robot.coordinates
        self._skeleton = Skeleton.of(robot)
        drawn = ca.vec(c.q)
        if self._skeleton is not None:
            drawn = ca.vertcat(ca.vec(self._skeleton.places), ca.vec(self._skeleton.triads))
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": robot.p}
        self._kernel = Kernel("drawn", symbols, {"drawn": ca.densify(drawn)}, compiled=False)
        self._times: list[float] = []
        self._drawn: list[Array] = []
        self._window: tuple[Array, Array] | None = None

    def clear(self) -> None:
        """A new episode."""
        self._times, self._drawn, self._window = [], [], None

    def add(self, t: float, x: Array, p: Array) -> None:
        """Take in a state.

        Args:
            t: time [s].
            x: (q, v), shape (nx,).
            p: the plant's parameters, shape (np,).
        """
        self._times.append(t)
        self._drawn.append(np.atleast_1d(self._kernel(t, x, p)[0]))

    def frame(self) -> NDArray[np.uint8]:
        """The last state, shape (height, width, 3)."""
        figure = new_figure(SIZE, SIZE)
        figure.set_dpi(RESOLUTION)
        every = np.array(self._drawn)
        if self._skeleton is None:
            self._series(figure, every)
        else:
            self._robot(figure, self._skeleton, every)
        # matplotlib's stubs know little of this canvas.
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return np.array(np.asarray(canvas.buffer_rgba())[..., :3], dtype=np.uint8)

    def _robot(self, figure: Figure, skeleton: Skeleton, every: Array) -> None:
        count, n = skeleton.places.numel(), len(every)
        x = every[:, :count].reshape(n, skeleton.places.size2(), skeleton.dimension)
        # Column by column, as CasADi has them.
        axes = every[:, count:].reshape(n, len(skeleton.origins), 3, 3).transpose(0, 1, 3, 2)
        places = Places(skeleton, np.array(self._times), x, axes)
        stage = Stage(figure, MotionPlaces((places,)))
        for name, low, high in zip(AXES, *self._shown(x), strict=False):
            getattr(stage.axes, f"set_{name}lim")(float(low), float(high))
        if skeleton.dimension == 3:
            stage.axes.set_box_aspect((1.0, 1.0, 1.0), zoom=0.85)
        posture = places.posture(n - 1, np.zeros((0, skeleton.dimension)))
        stage.ground(posture)
        stage.way(posture.way, POINT_COLOR)
        stage.robot(posture, ARM_COLOR, width=2.4)
        stage.axes.set_title(self._title, family="monospace", fontsize=10)

    def _shown(self, x: Array) -> tuple[Array, Array]:
        """Corners of a square or a cube that holds all places so far, and stays as it is while it does."""
        seen = x.reshape(-1, x.shape[2])
        low, high = seen.min(axis=0), seen.max(axis=0)
        size = float((high - low).max()) or 1.0
        window = self._window
        if window is None or (low < window[0]).any() or (high > window[1]).any():
            middle, half = (low + high) / 2.0, (0.5 + TRIAD) * WIDER * size
            self._window = window = middle - half, middle + half
        return window

    def _series(self, figure: Figure, every: Array) -> None:
        axes = figure.add_subplot()
        for values, name in zip(every.T, self._task.setup.robot.coordinates.names, strict=True):
            axes.plot(self._times, values, label=name)
        lines(axes, "coordinates", xlabel="time [s]")
        axes.legend(fontsize=8, loc="upper left", ncols=4)
        axes.set_title(self._title, family="monospace", fontsize=10)

    @property
    def _title(self) -> str:
        return f"t = {self._times[-1]:.3f} s"
