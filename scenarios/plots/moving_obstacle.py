"""Pictures of a point that follows an Erugin field among moving obstacles, for any robot, path and obstacles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from matplotlib.animation import PillowWriter
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ...constraints import EruginField
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ..trajectory import Trajectory
from .overview import FLOOR, draw_inputs
from .style import ARM_COLOR, OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, lines, new_figure, save, write_whole

Array = NDArray[np.float64]
FRAMES = 90


@dataclass(frozen=True, eq=False)
class Grid:
    """Places of a rectangle.

    Attributes:
        x: abscissas, shape (n, n) [m].
        y: ordinates, shape (n, n) [m].
        places: the same as columns, shape (2, n²) [m].
    """

    x: Array
    y: Array
    places: Array

    @classmethod
    def over(cls, low: Array, high: Array, n: int) -> Grid:
        """n × n places between two corners."""
        share = np.arange(n) / (n - 1)
        x: Array = np.tile(low[0] + (high[0] - low[0]) * share, (n, 1))
        y: Array = np.tile((low[1] + (high[1] - low[1]) * share)[:, None], (1, n))
        return cls(x, y, np.asfortranarray(np.vstack([x.ravel(), y.ravel()])))


class MovingObstaclePlots:
    """The path with the obstacles and the robot, torques, deviations, the field, and an animation.

    Attributes:
        field: what the point follows, in the plane.
        point: the point, in the plant's symbols.
        path: points of the path, shape (k, 2) [m].
    """

    def __init__(self, field: EruginField, point: ca.SX, path: Array) -> None:
        """Keep what is drawn."""
        self.field, self.point, self.path = field, point, path

    def all(self) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        """File name → what draws it into a path."""
        return {
            "path.png": self.draw_path,
            "torques.png": self.draw_torques,
            "deviations.png": self.draw_deviations,
            "field.png": self.draw_field,
            "animation.gif": self.animate,
        }

    def draw_path(self, trajectory: Trajectory, target: Path) -> None:
        """The path, the way of the point, and robot and obstacles at several instants, later ones darker."""
        figure = new_figure(7.0, 6.4)
        axes = figure.subplots()
        samples = np.linspace(0, len(trajectory) - 1, 6).astype(int)
        grid, chain, way = self._grid(trajectory), self._chain(trajectory), trajectory.evaluate(self.point)
        axes.plot(*self.path.T, "--", color=PATH_COLOR, linewidth=1.5, label="program path", zorder=2)
        for i, k in enumerate(samples):
            shade = 0.25 + 0.75 * i / (len(samples) - 1)
            axes.plot(*chain[k].T, "-o", color=ARM_COLOR, alpha=0.6 * shade, linewidth=2.0, markersize=4, zorder=3)
            self._obstacles(axes, grid, trajectory, k, shade)
            for values in self._boundaries(grid, trajectory, k):
                if values.min() < 0.0:
                    covered = grid.places[:, values.ravel() < 0.0]
                    place = (covered[0].mean(), covered[1].min() - 0.01)
                    label = f"{trajectory.t[k]:.1f} s"
                    axes.text(*place, label, color=OBSTACLE_COLOR, fontsize=8, ha="center", va="top", zorder=6)
            axes.annotate(
                f"{trajectory.t[k]:.1f} s",
                (way[k, 0], way[k, 1]),
                xytext=(7, -3),
                textcoords="offset points",
                fontsize=8,
                color=POINT_COLOR,
                zorder=6,
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
        axes.plot(*way.T, color=POINT_COLOR, linewidth=2.0, label="tip", zorder=5)
        axes.plot(*way[samples].T, "o", color=POINT_COLOR, markersize=4, zorder=5)
        axes.plot([], [], "-o", color=ARM_COLOR, alpha=0.6, linewidth=2.0, markersize=4, label="arm")
        axes.fill([], [], color=OBSTACLE_COLOR, alpha=0.35, label="disc, later times darker")
        self._frame(axes, grid)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False)
        save(figure, target)

    def draw_torques(self, trajectory: Trajectory, target: Path) -> None:
        """Every input over time."""
        figure = new_figure(7.0, 3.4)
        axes = figure.subplots()
        draw_inputs(axes, trajectory)
        label = (
            "generalized force R [N m]"
            if trajectory.controller and trajectory.controller.applies_force
            else "torque [N m]"
        )
        lines(axes, label, xlabel="time [s]")
        axes.legend(frameon=False)
        save(figure, target)

    def draw_deviations(self, trajectory: Trajectory, target: Path) -> None:
        """Deviations from the program, and the distance to the program curve, on a log axis."""
        figure = new_figure(7.0, 3.8)
        axes = figure.subplots()
        for i in range(trajectory.deviation.shape[1]):
            axes.semilogy(
                trajectory.t, np.maximum(np.abs(trajectory.deviation[:, i]), FLOOR), label=rf"$|\psi_{i + 1}|$ [m/s]"
            )
        program = trajectory.evaluate(self.field.functions(self.point, trajectory.robot.t))[:, 0]
        axes.semilogy(trajectory.t, np.maximum(np.abs(program), FLOOR), "k:", label="tip to program curve [m]")
        lines(axes, "magnitude", xlabel="time [s]")
        axes.legend(loc="upper right", frameon=False)
        save(figure, target)

    def draw_field(self, trajectory: Trajectory, target: Path) -> None:
        """Streamlines at three instants, with program curve, obstacles and point."""
        figure = new_figure(11.0, 4.6)
        panels: Sequence[Axes] = list(figure.subplots(1, 3, sharex=True, sharey=True))
        grid = self._grid(trajectory)
        clearances = trajectory.evaluate(self.field.functions(self.point, trajectory.robot.t))[:, 1:].min(axis=1)
        nearest = int(np.argmin(clearances))
        instants = [nearest // 3, nearest, (nearest + 2 * len(trajectory)) // 3]
        way = trajectory.evaluate(self.point)
        for axes, k in zip(panels, instants, strict=True):
            w, f = self._sample(self._field_kernel, grid, trajectory, k)
            u, v = (np.where((f[1:] < 0.0).any(axis=0), np.nan, c).reshape(grid.x.shape) for c in w)
            axes.streamplot(grid.x, grid.y, u, v, color="0.6", density=1.3, linewidth=0.7, arrowsize=0.7)
            axes.contour(
                grid.x, grid.y, f[0].reshape(grid.x.shape), [0.0], colors=PATH_COLOR, linestyles="--", linewidths=1.8
            )
            self._obstacles(axes, grid, trajectory, k, 1.0)
            axes.plot(*way[k], "o", color=POINT_COLOR, markersize=6, zorder=6)
            axes.set_title(f"t = {trajectory.t[k]:.2f} s", fontsize=10)
            self._frame(axes, grid)
        for axes in panels[1:]:
            axes.set_ylabel("")
        handles = [
            panels[0].plot([], [], "--", color=PATH_COLOR, linewidth=1.8, label="program curve F = 0")[0],
            panels[0].plot([], [], "o", color=POINT_COLOR, label="tip")[0],
            panels[0].fill([], [], color=OBSTACLE_COLOR, alpha=0.5, label="disc")[0],
            panels[0].plot([], [], color="0.6", linewidth=0.8, label="streamlines of the field at that instant")[0],
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
        save(figure, target)

    def animate(self, trajectory: Trajectory, target: Path) -> None:
        """The motion in real time, or faster to keep to a hundred frames."""
        figure = new_figure(5.2, 5.0)
        axes = figure.subplots()
        grid, chain, way = self._grid(trajectory), self._chain(trajectory), trajectory.evaluate(self.point)
        samples = np.unique(np.linspace(0, len(trajectory) - 1, FRAMES).astype(int))
        rate = max(1.0, min(25.0, len(samples) / max(trajectory.t[-1], 0.1)))

        def write(path: Path) -> None:
            writer = PillowWriter(fps=round(rate))
            # Not as a context, which would write a file of no frames, and fail, after an error in the first one.
            writer.setup(figure, str(path), dpi=90)
            for i, k in enumerate(samples):
                if i == 1:
                    # The layout of the first frame serves all; finding it anew costs more than the drawing.
                    figure.set_layout_engine("none")
                axes.clear()
                axes.plot(*self.path.T, "--", color=PATH_COLOR, linewidth=1.5)
                axes.plot(*way[: k + 1].T, color=POINT_COLOR, linewidth=2.0)
                axes.plot(*chain[k].T, "-o", color=ARM_COLOR, linewidth=3.0, markersize=6)
                self._obstacles(axes, grid, trajectory, k, 1.0)
                axes.set_title(f"t = {trajectory.t[k]:5.2f} s", family="monospace", fontsize=10)
                self._frame(axes, grid)
                writer.grab_frame()
            writer.finish()

        write_whole(target, write)

    def _obstacles(self, axes: Axes, grid: Grid, trajectory: Trajectory, k: int, shade: float) -> None:
        for values in self._boundaries(grid, trajectory, k):
            if values.min() < 0.0:
                inside = [values.min(), 0.0]
                axes.contourf(grid.x, grid.y, values, inside, colors=[OBSTACLE_COLOR], alpha=0.35 * shade, zorder=4)
                axes.contour(grid.x, grid.y, values, [0.0], colors=[OBSTACLE_COLOR], alpha=0.4 + 0.6 * shade, zorder=4)

    def _frame(self, axes: Axes, grid: Grid) -> None:
        axes.set(xlim=(grid.x[0, 0], grid.x[0, -1]), ylim=(grid.y[0, 0], grid.y[-1, 0]))
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(True, color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)

    def _chain(self, trajectory: Trajectory) -> Array:
        """Places of the robot's chain, shape (N, points, 2)."""
        robot = trajectory.robot
        places = ca.vertcat(*(robot.points[name] for name in robot.chain))
        return trajectory.evaluate(places).reshape(len(trajectory), -1, 2)

    def _grid(self, trajectory: Trajectory) -> Grid:
        """A grid over what is seen: robot, path, and the obstacles at the start and the end as far as they are near."""
        seen = np.vstack([self._chain(trajectory).reshape(-1, 2), self.path])
        low, high = seen.min(axis=0), seen.max(axis=0)
        size = float((high - low).max())
        wide = Grid.over(low - 0.35 * size, high + 0.35 * size, 81)
        for k in (0, len(trajectory) - 1):
            for values in self._boundaries(wide, trajectory, k):
                covered = wide.places[:, values.ravel() < 0.0]
                low = np.minimum(low, covered.min(axis=1, initial=np.inf))
                high = np.maximum(high, covered.max(axis=1, initial=-np.inf))
        return Grid.over(low - 0.06 * size, high + 0.06 * size, 141)

    def _boundaries(self, grid: Grid, trajectory: Trajectory, k: int) -> list[Array]:
        """Each obstacle's function on the grid at sample k."""
        (values,) = self._sample(self._obstacle_kernel, grid, trajectory, k)
        return [row.reshape(grid.x.shape) for row in values]

    def _sample(self, kernel: Kernel, grid: Grid, trajectory: Trajectory, k: int) -> list[Array]:
        """Outputs of a kernel of place, time and the field's parameters on the grid, shape (rows, places) each."""
        if trajectory.controller is None:
            raise ModelError("the motion has no controller, so there is no field to draw")
        names = trajectory.controller.parameters.names
        p = trajectory.law_p[[names.index(name) for name in self.field.parameters.names]]
        n = grid.places.shape[1]
        results = [np.zeros((rows, n), order="F") for rows, _ in kernel.outputs.values()]
        time = np.full((1, n), trajectory.t[k], order="F")
        kernel.loop(n, 0, [grid.places, time, np.asfortranarray(np.tile(p[:, None], (1, n)))], results)()
        return results

    @functools.cached_property
    def _obstacle_kernel(self) -> Kernel:
        x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
        boundaries = ca.vertcat(ca.SX(0, 1), *(obstacle.functions(x, t) for obstacle in self.field.obstacles))
        symbols = {"x": x, "t": t, "p": self.field.parameters.symbols}
        return Kernel("obstacle_sample", symbols, {"f": boundaries}, compiled=False)

    @functools.cached_property
    def _field_kernel(self) -> Kernel:
        x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
        outputs = {"w": self.field.velocity(x, t), "f": self.field.functions(x, t)}
        symbols = {"x": x, "t": t, "p": self.field.parameters.symbols}
        return Kernel("field_sample", symbols, outputs, compiled=False)
