"""Picture of a pen that draws on a sphere while a ball crosses its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.curves.circle import Circle
from ..simulation.trajectory import Trajectory
from ..symbolic.validation import positive, vector
from .style import OBSTACLE_COLOR, PATH_COLOR, POINT_COLOR, label_axes, new_figure, require_samples, save_figure

Array = NDArray[np.float64]
TURNS = 24


def draw_on_sphere(
    motion: Trajectory, target: Path, *, pen: ca.SX, off: ca.SX, ball: Circle, center: Array, radius: float
) -> None:
    """Draw the sphere with the pen's path, the ball where it comes nearest, and the distances over time.

    Args:
        motion: motion of the pen and the ball.
        target: path of the file.
        pen: position of the pen in the plant's symbols, shape (3,) [m].
        off: distance of the pen from the line to be drawn [m].
        ball: the obstacle.
        center: centre of the sphere, shape (3,) [m].
        radius: radius of the sphere [m].

    Raises:
        ModelError: for a radius that is not positive, or a motion without samples.
        ShapeError: if a centre is not a point in space.
    """
    require_samples(motion)
    center, radius = vector("center", center, 3), positive("radius", radius)
    t = motion.robot.t
    way, gap = motion.evaluate(pen), motion.evaluate(ball.functions(pen, t))
    flight, size = motion.evaluate(ball.center(t)), float(motion.evaluate(ball.radius + 0 * t)[0])
    near = int(np.argmin(gap))
    figure = new_figure(9.6, 4.6)
    space: Any = figure.add_subplot(1, 2, 1, projection="3d")
    space.plot_wireframe(*_sphere(center, radius), color="0.85", linewidth=0.5)
    space.plot(*way.T, color=POINT_COLOR, linewidth=2.0, label="pen")
    space.plot_surface(*_sphere(flight[near], size), color=OBSTACLE_COLOR, alpha=0.5, linewidth=0.0)
    seen = np.linalg.norm(flight - center, axis=1) < 2.2 * radius
    space.plot(*flight[seen].T, color=OBSTACLE_COLOR, linestyle=":", linewidth=1.4, label="ball's centre")
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
    space.set_aspect("equal")
    space.locator_params(nbins=4)
    space.tick_params(labelsize=8)
    space.zaxis.labelpad = 8.0
    space.legend(loc="upper center", bbox_to_anchor=(0.5, 1.1), ncols=2, frameon=False, fontsize=9)
    space.set_title(f"ball at t = {motion.t[near]:.2f} s", fontsize=10, y=-0.12)
    axes = figure.add_subplot(1, 2, 2)
    axes.plot(motion.t, 1e3 * gap, color=OBSTACLE_COLOR, label="pen to the ball")
    axes.plot(motion.t, 1e3 * motion.evaluate(off), color=POINT_COLOR, label="pen off the line")
    axes.axhline(0.0, color=PATH_COLOR, linewidth=0.8)
    label_axes(axes, "distance [mm]", xlabel="time [s]")
    axes.legend(frameon=False)
    save_figure(figure, target)


def _sphere(center: Array, radius: float) -> tuple[Array, Array, Array]:
    around, up = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 2 * TURNS), np.linspace(0.0, np.pi, TURNS))
    x, y, z = (np.asarray(part) for part in (np.cos(around) * np.sin(up), np.sin(around) * np.sin(up), np.cos(up)))
    return center[0] + radius * x, center[1] + radius * y, center[2] + radius * z
