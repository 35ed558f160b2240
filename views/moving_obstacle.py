"""Pictures of a point that follows an Erugin field among moving obstacles, for any robot, path and obstacles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..constraints.field.erugin_field import EruginField
from ..simulation.storage.atomic_file import write_whole
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .film import GifFrames
from .style import ARM_COLOR, OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, label_axes, new_figure, save_figure
from .time_series import FLOOR

Array = NDArray[np.float64]
SIDES = [(1.0, 0.0), (-1.0, 0.0), (0.8, 0.6), (-0.8, 0.6), (0.8, -0.6), (-0.8, -0.6), (0.0, 0.7), (0.0, -0.7)]
AROUND: Array = np.array(SIDES)
"""Directions from a point to its label, which is wider than high, in order of preference."""


def free_position(places: Array, occupied: Array) -> Array:
    """Return the position that is farthest from the occupied points, the first one if several are.

    Args:
        places: candidate positions, shape (k, 2) [m].
        occupied: points that should not be covered, shape (n, 2) [m].

    Returns:
        Shape (2,).
    """
    # A label is about twice as wide as high.
    apart = (places[:, None] - occupied) * [0.5, 1.0]
    return np.asarray(places[np.argmax(np.sqrt((apart**2).sum(axis=2)).min(axis=1).round(6))])


@dataclass(frozen=True, eq=False)
class PlaneGrid:
    """Grid points of a rectangle.

    Attributes:
        x: abscissas, shape (n, n) [m].
        y: ordinates, shape (n, n) [m].
        places: the grid points as columns, shape (2, n²) [m].
    """

    x: Array
    y: Array
    places: Array

    @classmethod
    def over(cls, low: Array, high: Array, n: int) -> PlaneGrid:
        """Create n × n grid points between two corners.

        Args:
            low: lower corner, shape (2,) [m].
            high: upper corner, shape (2,) [m].
            n: number of points along each side.
        """
        share = np.arange(n) / (n - 1)
        x: Array = np.tile(low[0] + (high[0] - low[0]) * share, (n, 1))
        y: Array = np.tile((low[1] + (high[1] - low[1]) * share)[:, None], (1, n))
        return cls(x, y, np.asfortranarray(np.vstack([x.ravel(), y.ravel()])))

    def around(self, values: Array) -> tuple[Array, Array, Array]:
        """Return abscissas, ordinates and values where these are negative, with one more grid line on each side.

        Args:
            values: values on the grid, some of them negative, shape (n, n).
        """
        inside = values < 0.0
        rows, columns = (
            slice(max(0, int(found[0]) - 1), int(found[-1]) + 2)
            for found in (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
        )
        return self.x[rows, columns], self.y[rows, columns], values[rows, columns]


class SampledField:
    """Outputs of a kernel of position, time and parameters on a grid; the arguments are bound once, which is slow."""

    def __init__(self, kernel: Kernel, grid: PlaneGrid, p: Array) -> None:
        """Bind the kernel's arguments.

        Args:
            kernel: kernel with the inputs x, t and p.
            grid: the grid points.
            p: values of the parameters, shape (np,).
        """
        n = grid.places.shape[1]
        self._results = [np.zeros((rows, n), order="F") for rows, _ in kernel.outputs.values()]
        self._time = np.zeros((1, n), order="F")
        values = np.asfortranarray(np.tile(p[:, None], (1, n)))
        self._run = kernel.loop(n, 0, [grid.places, self._time, values], self._results)

    def at(self, t: float) -> list[Array]:
        """Return each output at a time, shape (rows, number of grid points).

        Args:
            t: time [s].
        """
        self._time[:] = t
        self._run()
        return [result.copy() for result in self._results]


FRAMES, RESOLUTION = 90, 90.0
FINE, COARSE = 141, 71
"""Grid points along each side for a picture, and for a frame of a film."""
LABEL_BOX = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}


@dataclass(frozen=True, eq=False)
class Scene:
    """Data shared by all pictures of one motion.

    Attributes:
        grid: grid over the visible area.
        chain: positions of the robot's chain, shape (N, points, 2) [m].
        trace: path of the point, shape (N, 2) [m].
    """

    grid: PlaneGrid
    chain: Array
    trace: Array


class MovingObstaclePlots:
    """Pictures of the path with obstacles and robot, torques, deviations, the field, and an animation.

    Attributes:
        field: field that the point follows, in the plane.
        point: the point, in the plant's symbols.
        path: points of the path, shape (k, 2) [m].
    """

    def __init__(
        self,
        field: EruginField,
        point: ca.SX,
        path: Array,
        *,
        words: tuple[str, str, str] = ("tip", "arm", "disc"),
    ) -> None:
        """Store what is drawn.

        Args:
            field: field that the point follows, in the plane.
            point: the point in the plant's symbols, shape (2,).
            path: points of the path, shape (k, 2) [m].
            words: names of the point, the robot and an obstacle in legends.
        """
        self.field, self.point, self.path = field, point, path
        self.point_word, self.robot_word, self.obstacle_word = words
        self._last: tuple[Trajectory, Scene] | None = None

    def all(self) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        """Return the drawing functions by file name."""
        return {
            "path.png": self.draw_path,
            "torques.png": self.draw_torques,
            "deviations.png": self.draw_deviations,
            "field.png": self.draw_field,
            "animation.gif": self.animate,
        }

    def draw_path(self, trajectory: Trajectory, target: Path) -> None:
        """Draw the path, the trace of the point, and robot and obstacles at several instants, later ones darker."""
        figure = new_figure(7.0, 6.4)
        axes = figure.subplots()
        samples = np.linspace(0, len(trajectory) - 1, 6).astype(int)
        scene, boundaries = self._scene(trajectory), self._boundaries(trajectory)
        grid, chain, trace = scene.grid, scene.chain, scene.trace
        axes.plot(*self.path.T, "--", color=PATH_COLOR, linewidth=1.5, label="program path", zorder=2)
        occupied = np.concatenate([trace[:: max(1, len(trace) // 400)], self.path])
        room = 0.05 * float(grid.y[-1, 0] - grid.y[0, 0])
        labelled: list[Array] = []
        labels: dict[str, Any] = {"fontsize": 8, "ha": "center", "va": "center", "zorder": 6, "bbox": LABEL_BOX}
        for i, k in enumerate(samples):
            shade, label = 0.25 + 0.75 * i / (len(samples) - 1), f"{trajectory.t[k]:.1f} s"
            axes.plot(*chain[k].T, "-o", color=ARM_COLOR, alpha=0.6 * shade, linewidth=2.0, markersize=4, zorder=3)
            values = boundaries(float(trajectory.t[k]))
            _obstacles(axes, grid, values, shade)
            for covered in (grid.places[:, row.ravel() < 0.0] for row in values if row.min() < 0.0):
                middle, half = covered.mean(axis=1), room / 3 + np.ptp(covered[1]) / 2
                places = _within(grid, middle + half * np.array([(0.0, -1.0), (0.0, 1.0)]), room / 2)
                # An obstacle at the edge of the picture may leave no room for another label.
                places = places[[all(np.hypot(*(place - other)) > room for other in labelled) for place in places]]
                if len(places):
                    place = free_position(places, occupied)
                    occupied = np.vstack([occupied, place])
                    labelled.append(place)
                    axes.text(place[0], place[1], label, color=OBSTACLE_COLOR, **labels)
        for k in samples:
            place = free_position(_within(grid, trace[k] + room * AROUND, room / 2), occupied)
            occupied = np.vstack([occupied, place])
            axes.text(place[0], place[1], f"{trajectory.t[k]:.1f} s", color=POINT_COLOR, **labels)
        axes.plot(*trace.T, color=POINT_COLOR, linewidth=2.0, label=self.point_word, zorder=5)
        axes.plot(*trace[samples].T, "o", color=POINT_COLOR, markersize=4, zorder=5)
        axes.plot([], [], "-o", color=ARM_COLOR, alpha=0.6, linewidth=2.0, markersize=4, label=self.robot_word)
        axes.fill([], [], color=OBSTACLE_COLOR, alpha=0.35, label=f"{self.obstacle_word}, later times darker")
        self._frame(axes, grid)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=4, frameon=False)
        save_figure(figure, target)

    def draw_torques(self, trajectory: Trajectory, target: Path) -> None:
        """Draw every input over time."""
        figure = new_figure(7.0, 3.4)
        axes = figure.subplots()
        for i, name in enumerate(trajectory.input_labels):
            axes.plot(trajectory.t, trajectory.u[:, i], label=name)
        label = (
            "generalized force R [N m]"
            if trajectory.controller and trajectory.controller.applies_force
            else "torque [N m]"
        )
        label_axes(axes, label, xlabel="time [s]")
        axes.legend(frameon=False)
        save_figure(figure, target)

    def draw_deviations(self, trajectory: Trajectory, target: Path) -> None:
        """Draw deviations from the program, and the distance to the program curve, on a log axis."""
        figure = new_figure(7.0, 3.8)
        axes = figure.subplots()
        for i in range(trajectory.deviation.shape[1]):
            axes.semilogy(
                trajectory.t, np.maximum(np.abs(trajectory.deviation[:, i]), FLOOR), label=rf"$|\psi_{i + 1}|$ [m/s]"
            )
        program = trajectory.evaluate(self.field.functions(self.point, trajectory.robot.t))[:, 0]
        axes.semilogy(
            trajectory.t, np.maximum(np.abs(program), FLOOR), "k:", label=f"{self.point_word} to program curve [m]"
        )
        label_axes(axes, "magnitude", xlabel="time [s]")
        axes.legend(loc="upper right", frameon=False)
        save_figure(figure, target)

    def draw_field(self, trajectory: Trajectory, target: Path) -> None:
        """Draw streamlines at three instants, with program curve, obstacles and point."""
        figure = new_figure(11.0, 4.6)
        panels: Sequence[Axes] = list(figure.subplots(1, 3, sharex=True, sharey=True))
        scene, boundaries = self._scene(trajectory), self._boundaries(trajectory)
        grid, trace = scene.grid, scene.trace
        field = self._sampled(self._field_kernel, grid, trajectory)
        clearances = trajectory.evaluate(self.field.functions(self.point, trajectory.robot.t))[:, 1:].min(axis=1)
        nearest = int(np.argmin(clearances))
        instants = [nearest // 3, nearest, (nearest + 2 * len(trajectory)) // 3]
        for axes, k in zip(panels, instants, strict=True):
            w, f = field.at(float(trajectory.t[k]))
            u, v = (np.where((f[1:] < 0.0).any(axis=0), np.nan, c).reshape(grid.x.shape) for c in w)
            axes.streamplot(grid.x, grid.y, u, v, color="0.6", density=1.1, linewidth=0.7, arrowsize=0.7)
            axes.contour(
                grid.x, grid.y, f[0].reshape(grid.x.shape), [0.0], colors=PATH_COLOR, linestyles="--", linewidths=1.8
            )
            _obstacles(axes, grid, boundaries(float(trajectory.t[k])), 1.0)
            axes.plot(*trace[k], "o", color=POINT_COLOR, markersize=6, zorder=6)
            axes.set_title(f"t = {trajectory.t[k]:.2f} s", fontsize=10)
            self._frame(axes, grid)
        for axes in panels[1:]:
            axes.set_ylabel("")
        handles = [
            panels[0].plot([], [], "--", color=PATH_COLOR, linewidth=1.8, label="program curve F = 0")[0],
            panels[0].plot([], [], "o", color=POINT_COLOR, label=self.point_word)[0],
            panels[0].fill([], [], color=OBSTACLE_COLOR, alpha=0.5, label=self.obstacle_word)[0],
            panels[0].plot([], [], color="0.6", linewidth=0.8, label="streamlines of the field at that instant")[0],
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
        save_figure(figure, target)

    def animate(self, trajectory: Trajectory, target: Path) -> None:
        """Animate the motion in real time, or faster to limit the film to a hundred frames."""
        figure = new_figure(5.2, 5.0)
        axes = figure.subplots()
        scene, grid = self._scene(trajectory), self._grid(trajectory, COARSE)
        boundaries = self._boundaries(trajectory, grid)
        samples = np.unique(np.linspace(0, len(trajectory) - 1, FRAMES).astype(int))
        rate = max(1.0, min(25.0, len(samples) / max(trajectory.t[-1], 0.1)))
        axes.plot(*self.path.T, "--", color=PATH_COLOR, linewidth=1.5)
        self._frame(axes, grid)
        (trace,) = axes.plot([], [], color=POINT_COLOR, linewidth=2.0)
        (chain,) = axes.plot([], [], "-o", color=ARM_COLOR, linewidth=3.0, markersize=6)

        def write(path: Path) -> None:
            frames = GifFrames(figure, RESOLUTION)
            obstacles: list[Artist] = []
            for k in samples:
                for artist in obstacles:
                    artist.remove()
                obstacles = _obstacles(axes, grid, boundaries(float(trajectory.t[k])), 1.0)
                trace.set_data(*scene.trace[: k + 1].T)
                chain.set_data(*scene.chain[k].T)
                title = axes.set_title(f"t = {trajectory.t[k]:5.2f} s", family="monospace", fontsize=10)
                frames.add([trace, chain, *obstacles, title])
            frames.save(path, round(rate))

        write_whole(target, write)

    def _frame(self, axes: Axes, grid: PlaneGrid) -> None:
        axes.set(xlim=(grid.x[0, 0], grid.x[0, -1]), ylim=(grid.y[0, 0], grid.y[-1, 0]))
        axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
        axes.grid(True, color="0.92", linewidth=0.8)
        axes.set_axisbelow(True)

    def _scene(self, trajectory: Trajectory) -> Scene:
        """Return the data shared by pictures of a motion, cached for the next picture."""
        if self._last is None or self._last[0] is not trajectory:
            self._last = (
                trajectory,
                Scene(self._grid(trajectory, FINE), self._chain(trajectory), trajectory.evaluate(self.point)),
            )
        return self._last[1]

    def _chain(self, trajectory: Trajectory) -> Array:
        """Return the positions of the robot's chain, shape (N, points, 2)."""
        robot = trajectory.robot
        places = ca.vertcat(*(robot.points[name] for name in robot.chain))
        return trajectory.evaluate(places).reshape(len(trajectory), -1, 2)

    def _grid(self, trajectory: Trajectory, n: int) -> PlaneGrid:
        """Return a grid over robot and path, and over nearby obstacles at the start and the end."""
        scene = np.vstack([self._chain(trajectory).reshape(-1, 2), self.path])
        low, high = scene.min(axis=0), scene.max(axis=0)
        size = float((high - low).max())
        wide = PlaneGrid.over(low - 0.35 * size, high + 0.35 * size, 81)
        boundaries = self._boundaries(trajectory, wide)
        for k in (0, -1):
            for values in boundaries(float(trajectory.t[k])):
                covered = wide.places[:, values.ravel() < 0.0]
                low = np.minimum(low, covered.min(axis=1, initial=np.inf))
                high = np.maximum(high, covered.max(axis=1, initial=-np.inf))
        return PlaneGrid.over(low - 0.06 * size, high + 0.06 * size, n)

    def _boundaries(self, trajectory: Trajectory, grid: PlaneGrid | None = None) -> Callable[[float], list[Array]]:
        """Return the function of time that evaluates each obstacle on the grid."""
        places = self._scene(trajectory).grid if grid is None else grid
        sampled = self._sampled(self._obstacle_kernel, places, trajectory)
        return lambda t: [row.reshape(places.x.shape) for row in sampled.at(t)[0]]

    def _sampled(self, kernel: Kernel, grid: PlaneGrid, trajectory: Trajectory) -> SampledField:
        """Return a kernel of position, time and the field's parameters bound to the grid."""
        if trajectory.controller is None:
            raise ModelError("the motion has no controller, and therefore no field to draw")
        names = trajectory.controller.parameters.names
        return SampledField(
            kernel, grid, trajectory.controller_p[[names.index(name) for name in self.field.parameters.names]]
        )

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


def _within(grid: PlaneGrid, places: Array, margin: float) -> Array:
    """Return the positions, shape (k, 2), inside the visible area and at least the margin [m] from its edge."""
    low, high = grid.places[:, 0] + margin, grid.places[:, -1] - margin
    return places[((places > low) & (places < high)).all(axis=1)]


def _obstacles(axes: Axes, grid: PlaneGrid, boundaries: Sequence[Array], shade: float) -> list[Artist]:
    """Draw the visible part of each obstacle; contours are computed only near it."""
    drawn: list[Artist] = []
    for values in boundaries:
        if values.min() < 0.0:
            near, inside = grid.around(values), [values.min(), 0.0]
            drawn += [
                axes.contourf(*near, inside, colors=[OBSTACLE_COLOR], alpha=0.35 * shade, zorder=4),
                axes.contour(*near, [0.0], colors=[OBSTACLE_COLOR], alpha=0.4 + 0.6 * shade, zorder=4),
            ]
    return drawn
