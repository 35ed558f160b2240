"""Pictures of scenarios; what draws them, and matplotlib with it, is imported when the first is drawn."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Circle, Curve, EruginField, Spline
from ..setup import Draw, Motion
from ..trajectory import Trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from ..plots.moving_obstacle import MovingObstaclePlots

OBSTACLE_PICTURES = ("path.png", "torques.png", "deviations.png", "field.png", "animation.gif")


def obstacle_pictures(
    field: EruginField, point: ca.SX, path: Spline, words: tuple[str, str, str] = ("tip", "arm", "disc")
) -> dict[str, Draw]:
    """Path, inputs, deviations, field and animation of a point that follows a field in the plane.

    Args:
        field: what the point follows.
        point: in the plant's symbols, shape (2,).
        path: that the field leads along.
        words: what legends call the point, the robot and an obstacle.
    """

    @functools.cache
    def plots() -> MovingObstaclePlots:
        from ..plots.moving_obstacle import MovingObstaclePlots

        return MovingObstaclePlots(field, point, path.at(np.linspace(0.0, path.length, 300)), words=words)

    def drawn(name: str) -> Draw:
        def draw(motion: Trajectory, target: Path) -> None:
            plots().all()[name](motion, target)

        return draw

    return {name: drawn(name) for name in OBSTACLE_PICTURES}


def drawing_pictures(
    pen: ca.SX, path: Curve, ball: Circle, center: NDArray[np.float64], radius: float, name: str
) -> dict[str, Draw]:
    """A pen on a sphere with a ball in its way, and the robot still and moving.

    Args:
        pen: place of the pen in the plant's symbols, shape (3,).
        path: the line that is drawn.
        ball: the obstacle.
        center: of the sphere, shape (3,) [m].
        radius: of the sphere [m].
        name: of the robot's point that is the pen.
    """

    def drawing(motion: Trajectory, target: Path) -> None:
        from ..plots.drawing import draw_on_sphere

        off = ca.norm_2(path.functions(pen, motion.robot.t))
        draw_on_sphere(motion, target, pen=pen, off=off, ball=ball, center=center, radius=radius)

    return {"drawing.png": drawing, **robot_pictures(name)}


def robot_pictures(traced: str = "") -> dict[str, Draw]:
    """The robot at several instants, and moving.

    Args:
        traced: name of the point whose way is drawn; chosen if not given.
    """

    def still(motion: Motion, target: Path) -> None:
        from ..plots.motion import motion_picture

        motion_picture(motion, target, traced=traced)

    def moving(motion: Motion, target: Path) -> None:
        from ..plots.motion import animation

        animation(motion, target, traced=traced)

    return {"motion.png": still, "animation.gif": moving}


def swing_up_picture(motion: Trajectory, target: Path) -> None:
    """The arm as flashes of light show it, then angles, torques and energy over time.

    Args:
        motion: of a robot with a chain in the plane.
        target: the file.
    """
    from ..plots.style import save
    from ..plots.swing_up import swing_ups

    save(swing_ups({motion.robot.name: motion}, until=6.0), target)
